import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isAppError } from '../../domain/errors.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { openSqliteStore } from '../../testing/sqlite-store.ts';
import { TurnHolder } from '../../testing/turn-holder.ts';

const key = { tenantId: 'acme', sessionId: 'ses_1' };
const input = { id: 'ses_1', tenantId: 'acme', userId: 'ann', agentId: 'a', metadata: {} };
const LEASE_MS = 10_000;

describe('the SQLite store', () => {
  let dataDir: string;
  const clock = createManualClock(1_700_000_000_000);

  const open = () => openSqliteStore(dataDir, clock);

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'turnwire-store-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  test('lets the leases of a dead process expire when it is opened', async () => {
    const first = open();
    await first.store.sessions.create(input, null);
    await first.store.sessions.acceptTurn(key, { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' }, null);
    await new TurnHolder(first.store.turns, key, 'w').claim(LEASE_MS);
    await clock.advance(1000);
    await first.store.close();

    const second = open();
    expect(await second.store.turns.takeDue(10, 1000)).toEqual([{ ...key, turnId: 'turn_1' }]);
    const claim = await new TurnHolder(second.store.turns, key, 'w').claim(LEASE_MS);
    expect(claim).toMatchObject({ lease: { token: 2 }, turn: { attempt: 2, leasedMs: 1000 } });
    await second.store.close();
  });

  test('counts the time that the process was away as nobody’s', async () => {
    const first = open();
    await first.store.sessions.create(input, null);
    await first.store.sessions.acceptTurn(key, { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' }, null);
    await new TurnHolder(first.store.turns, key, 'w').claim(LEASE_MS);
    await first.store.close();
    await clock.advance(3 * 24 * 3_600_000);

    const second = open();
    const claim = await new TurnHolder(second.store.turns, key, 'w').claim(LEASE_MS);
    expect(claim?.turn?.leasedMs).toBe(LEASE_MS);
    await second.store.close();
  });

  test('leaves sessions that nobody held alone', async () => {
    const first = open();
    await first.store.sessions.create(input, null);
    const before = await first.store.sessions.get(key);
    await first.store.close();
    await clock.advance(5);
    const second = open();
    expect(await second.store.sessions.get(key)).toEqual(before);
    expect(await second.store.turns.takeDue(10, 1000)).toEqual([]);
    await second.store.close();
  });

  test('is unavailable while the disk is full, stores nothing then, and recovers', async () => {
    const { database, store } = open();
    await store.sessions.create(input, null);
    const pages = Number(database.get('PRAGMA page_count')?.page_count);
    database.get(`PRAGMA max_page_count = ${pages + 4}`);
    const before = await store.sessions.get(key);
    const command = { turnId: 'turn_1', text: 'x'.repeat(100_000), onBusy: 'enqueue' } as const;
    const idempotency = { key: 'k', fingerprint: 'f' };
    const refusal: unknown = await store.sessions
      .acceptTurn(key, command, idempotency)
      .catch((error: unknown) => error);
    expect(isAppError(refusal, 'unavailable') && refusal.retry).toBe(true);
    expect(await store.sessions.get(key)).toEqual(before);
    expect(await store.sessions.turn('acme', 'turn_1')).toBeNull();
    database.get(`PRAGMA max_page_count = ${pages + 10_000}`);
    expect(await store.sessions.acceptTurn(key, command, idempotency)).toMatchObject({ replayed: false });
    await store.close();
  });

  test('does not call a mistake of its caller unavailable', async () => {
    const { store } = open();
    await store.sessions.create(input, null);
    const refusal: unknown = await store.sessions.create(input, null).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Error);
    expect(isAppError(refusal, 'unavailable')).toBe(false);
    await store.close();
  });
});
