import type { AcceptedTurn } from '@turnwire/shared/domain/decide-accept';
import { type ErrorCode, isAppError } from '@turnwire/shared/domain/errors';
import type { Message } from '@turnwire/shared/domain/message';
import type { Session } from '@turnwire/shared/domain/session';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { OnBusy, Turn } from '@turnwire/shared/domain/turn';
import type { Store } from '@turnwire/shared/ports/store';
import { EventTail } from '@turnwire/shared/testing/event-tail';
import { type SessionSnapshot, sessionViolations } from '@turnwire/shared/testing/session-invariants';
import type { MakeStore, StoreHarness } from '@turnwire/shared/testing/store-harness';
import { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { afterEach, beforeEach, expect } from 'vitest';

/** Long enough not to run out by itself within a case, short enough to be waited for where the clock is a server's. */
export const LEASE_MS = 2_000;

/** A store of its own for every case, and the words in which the cases are told. */
export class StoreFixture {
  readonly #make: MakeStore;
  #harness: StoreHarness | null = null;
  #count = 0;
  readonly #tails = new Map<string, EventTail>();

  constructor(make: MakeStore) {
    this.#make = make;
    beforeEach(async () => {
      this.#harness = await this.#make();
      this.#tails.clear();
    });
    afterEach(async () => {
      await this.#harness?.close();
      this.#harness = null;
    });
  }

  get store(): Store {
    if (this.#harness === null) throw new Error('The store is not open.');
    return this.#harness.store;
  }

  advance(ms: number): Promise<void> {
    if (this.#harness === null) throw new Error('The store is not open.');
    return this.#harness.advance(ms);
  }

  /** Lets all leases of this suite run out. */
  leasesRunOut(): Promise<void> {
    return this.advance(LEASE_MS + 50);
  }

  /** A new id of this test. */
  id(kind: string): string {
    this.#count += 1;
    return `${kind}_${this.#count}`;
  }

  async session(tenantId = 'acme', userId = 'ann'): Promise<SessionKey> {
    const id = this.id('ses');
    await this.store.sessions.create({ id, tenantId, userId, agentId: 'support', metadata: {} }, null);
    return { tenantId, sessionId: id };
  }

  async accept(key: SessionKey, onBusy: OnBusy = 'enqueue'): Promise<AcceptedTurn> {
    const turnId = this.id('turn');
    const { value } = await this.store.sessions.acceptTurn(key, { turnId, text: `text of ${turnId}`, onBusy }, null);
    return value;
  }

  holder(key: SessionKey, name = this.id('worker')): TurnHolder {
    const tail = this.#tails.get(key.sessionId) ?? new EventTail(key.sessionId);
    this.#tails.set(key.sessionId, tail);
    return new TurnHolder(this.store.turns, key, name, tail);
  }

  /** A holder that has claimed the session's next turn and stored its user's message. */
  async running(key: SessionKey): Promise<TurnHolder> {
    const holder = this.holder(key);
    const claim = await holder.claim(LEASE_MS);
    expect(claim?.turn?.status).toBe('RUNNING');
    await holder.begin();
    return holder;
  }

  /** A session whose turn waits for a decision on this many calls; its holder has let go. */
  async waiting(calls: number, options: { ttlMs?: number; onExpire?: 'reject' | 'cancel' | 'fail' } = {}) {
    const key = await this.session();
    const { turn } = await this.accept(key);
    const holder = await this.running(key);
    await holder.step(calls);
    const callIds = holder.toolCalls.map(({ id }) => id);
    await holder.suspend({ ...options, callIds });
    await holder.release();
    const interruptId = (await this.read(key)).interrupt!.id;
    return { key, turnId: turn.id, callIds, interruptId };
  }

  async read(key: SessionKey): Promise<Session> {
    const session = await this.store.sessions.get(key);
    if (session === null) throw new Error(`Session ${key.sessionId} is gone.`);
    return session;
  }

  async turn(tenantId: string, id: string): Promise<Turn> {
    const turn = await this.store.sessions.turn(tenantId, id);
    if (turn === null) throw new Error(`Turn ${id} is gone.`);
    return turn;
  }

  async messages(key: SessionKey): Promise<readonly Message[]> {
    const page = await this.store.sessions.messages(key, { limit: 200, cursor: null });
    return page?.items ?? [];
  }

  /** All that is stored of a session, checked. */
  async snapshot(key: SessionKey, turnIds: readonly string[]): Promise<SessionSnapshot> {
    const turns = await Promise.all(turnIds.map((id) => this.turn(key.tenantId, id)));
    const calls = await Promise.all(turnIds.map((id) => this.store.sessions.toolCalls(key.tenantId, id)));
    const snapshot = {
      session: await this.read(key),
      turns: turns.sort((a, b) => a.number - b.number),
      messages: await this.messages(key),
      toolCalls: calls.flat(),
    };
    expect(sessionViolations(snapshot)).toEqual([]);
    return snapshot;
  }
}

/** The error that a call is refused with; a failed test if it is not refused, or not like that. */
export async function refusal(call: Promise<unknown>, code: ErrorCode) {
  const outcome = await call.then(
    (value) => new Error(`It was not refused, but answered ${JSON.stringify(value)}.`),
    (error: unknown) => error,
  );
  if (!isAppError(outcome)) throw outcome;
  expect(`${outcome.code}: ${outcome.message}`).toMatch(new RegExp(`^${code}: `));
  return outcome;
}
