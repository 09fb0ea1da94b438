import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openConnection } from '@turnwire/shared/adapters/mongoose/connection';
import { openMongoStore } from '@turnwire/shared/adapters/mongoose/store';
import { isTerminalStatus } from '@turnwire/shared/domain/turn';
import type { Store } from '@turnwire/shared/ports/store';
import { EventTail } from '@turnwire/shared/testing/event-tail';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { sessionViolations } from '@turnwire/shared/testing/session-invariants';
import { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { afterAll, describe, expect, test } from 'vitest';
import { exampleMemory } from '../contracts/store/example-memory.ts';
import { findMongo } from '../stack/backends/mongodb.ts';

const mongo = await findMongo('crashes of a client of MongoDB');
afterAll(() => mongo?.close());

const script = fileURLToPath(new URL('./write-to-mongodb.ts', import.meta.url));
const key = { tenantId: 'acme', sessionId: 'ses_1' };
const ann = { tenantId: 'acme', userId: 'ann' };
/** The writer's. */
const LEASE_MS = 500;
const keyed = (name: string) => ({ key: name, fingerprint: name });

/** The steps that a writer has printed, in a database of its own. */
async function runWriter(lastWrite: number | 'none') {
  const dbName = mongo!.newDatabase();
  const child = spawn(process.execPath, [script, mongo!.url, dbName, String(lastWrite)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(errors).toBe('');
  expect(child.signalCode).toBe(lastWrite === 'none' ? null : 'SIGKILL');
  const connection = await openConnection(mongo!.url, { dbName });
  const store = await openMongoStore(connection, { log: createRecordingLogger(), transactions: false });
  return { done: out.split('\n').slice(0, -1), connection, store };
}

/** All of the session, as the first reader after the crash finds it. */
async function snapshotOf(store: Store) {
  const messages = (await store.sessions.messages(key, { limit: 200, cursor: null }))?.items ?? [];
  const session = await store.sessions.get(key);
  if (session === null) return null;
  const ids = Array.from({ length: session.turnCount }, (_, i) => `turn_${i + 1}`);
  const turns = await Promise.all(ids.map((id) => store.sessions.turn('acme', id)));
  const calls = await Promise.all(ids.map((id) => store.sessions.toolCalls('acme', id)));
  return { session, turns: turns.filter((turn) => turn !== null), messages, toolCalls: calls.flat() };
}

/** What the writer's clients do after the crash: they repeat what they got no answer to. Answers whether it was new. */
async function repeatAll(store: Store): Promise<Readonly<Record<string, boolean>>> {
  const isNew: Record<string, boolean> = {};
  const session = { ...ann, agentId: 'a', metadata: {} };
  isNew.ses_1 = !(await store.sessions.create({ ...session, id: 'ses_1' }, keyed('ses_1'))).replayed;
  for (const number of [1, 2, 3]) {
    const command = { turnId: `turn_${number}`, text: 'again', onBusy: 'enqueue' } as const;
    isNew[`turn_${number}`] = !(await store.sessions.acceptTurn(key, command, keyed(command.turnId))).replayed;
  }
  const memory = exampleMemory({ id: 'mem_1', text: 'Likes tea' });
  isNew.mem_1 = !(await store.memories.add(memory, keyed('mem_1'))).replayed;
  return isNew;
}

/** Brings all that was accepted to its end. */
async function drain(store: Store): Promise<void> {
  const tail = new EventTail(key.sessionId);
  for (let rounds = 0; rounds < 20; rounds += 1) {
    const worker = new TurnHolder(store.turns, key, 'after the crash', tail);
    const claim = await worker.claim(500);
    if (claim?.turn != null) await worker.finish(claim.forcedEnd ?? { status: 'COMPLETED' }, { text: '' });
    if (claim !== null) await worker.release();
    else if ((await store.sessions.get(key))?.state !== 'WAITING') return;
    else {
      const settle = { interruptId: null, decisions: {}, others: { action: 'approve' }, text: null } as const;
      await store.sessions.settleInterrupt(key, settle, null);
    }
  }
  throw new Error('The session does not come to rest.');
}

/** What the first reader finds: every write wholly or not at all. */
async function expectWhole(store: Store, told: ReadonlySet<string>): Promise<void> {
  const left = await snapshotOf(store);
  if (left !== null) expect(sessionViolations(left)).toEqual([]);
  expect(left?.turns.length).toBe(left?.session.turnCount);
  if (told.has('roll back')) expect(left?.messages.map(({ turnId }) => turnId)).not.toContain('turn_2');
  if (told.has('delete')) expect(await store.sessions.get({ ...key, sessionId: 'ses_2' })).toBeNull();
}

async function expectWholeMemories(store: Store, told: ReadonlySet<string>): Promise<void> {
  const memories = (await store.memories.valid(ann, 10)).map(({ id }) => id).sort();
  expect([[], ['mem_1'], ['mem_2', 'mem_3']]).toContainEqual(memories);
  if (told.has('forget')) expect(memories).not.toContain('mem_1');
  if (told.has('erase')) expect(memories).toEqual([]);
  const extraction = (await store.sessions.turn('acme', 'turn_1'))?.extraction;
  if (told.has('finish') && !told.has('erase')) {
    // The memories and the mark are one write; the erasure takes the memories away again.
    expect(extraction === 'done').toBe(memories.includes('mem_2') || told.has('delete'));
  }
}

/** Nothing is done twice, what was answered is answered again, and everything comes to its end. */
async function expectToGoOn(store: Store, told: ReadonlySet<string>): Promise<void> {
  const isNew = await repeatAll(store);
  expect(Object.keys(isNew).filter((name) => isNew[name] && told.has(name))).toEqual([]);
  await sleep(LEASE_MS); // the writer's
  await drain(store);
  const rest = await snapshotOf(store);
  expect(sessionViolations(rest!)).toEqual([]);
  expect(rest?.session).toMatchObject({ state: 'IDLE', dueAt: null, turnCount: 3 });
  expect(rest?.turns.filter(({ status }) => !isTerminalStatus(status))).toEqual([]);
}

/** Kills a writer after this write, and looks at what it leaves. */
async function crash(lastWrite: number): Promise<void> {
  const { done, connection, store } = await runWriter(lastWrite);
  const told = new Set(done);
  try {
    await expectWhole(store, told);
    await expectWholeMemories(store, told);
    await expectToGoOn(store, told);
  } catch (error) {
    throw new Error(`Killed after write ${lastWrite}, after "${done.at(-1)}"`, { cause: error });
  } finally {
    await connection.dropDatabase();
    await store.close();
  }
}

/** At once; each waits for its process and its lease most of the time. */
const CRASHES_AT_ONCE = 4;

describe.skipIf(mongo === null)('a client of MongoDB without transactions, killed between two writes', () => {
  test('leaves a store that the next one finds whole', { timeout: 300_000 }, async () => {
    const whole = await runWriter('none');
    const writes = Number.parseInt(whole.done.at(-1) ?? '', 10);
    await whole.store.close();
    expect(writes).toBeGreaterThan(40);
    for (let first = 1; first <= writes; first += CRASHES_AT_ONCE) {
      const some = Array.from({ length: Math.min(CRASHES_AT_ONCE, writes - first + 1) }, (_, i) => first + i);
      await Promise.all(some.map(crash));
    }
  });
});
