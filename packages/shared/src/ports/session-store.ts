import type { AcceptedTurn, AcceptTurn } from '../domain/decide-accept.ts';
import type { Cancellation, CancelTurn } from '../domain/decide-cancel.ts';
import type { SettleInterrupt, Settlement } from '../domain/decide-settle.ts';
import type { Message } from '../domain/message.ts';
import type { Page, PageQuery } from '../domain/page.ts';
import type { NewSession, Session, SessionState } from '../domain/session.ts';
import type { SessionKey } from '../domain/tenant.ts';
import type { ToolCall } from '../domain/tool-call.ts';
import type { Turn } from '../domain/turn.ts';

/** The caller's `Idempotency-Key`, per tenant. */
export interface IdempotencyKey {
  readonly key: string;
  /** Hash of method, path and body: the same key with another one is a mistake. */
  readonly fingerprint: string;
}

/** The first answer, word for word, where the key was used before. */
export interface Replayable<T> {
  readonly value: T;
  readonly replayed: boolean;
}

export interface SessionQuery extends PageQuery {
  readonly tenantId: string;
  readonly userId: string | null;
  readonly state: SessionState | null;
}

/**
 * What clients do to sessions. Every method names the tenant; what belongs to another reads as absent, and a write to
 * it throws `not_found`.
 *
 * Each write is atomic and decided by the domain function of its command (`domain/decide-*`), whose errors it throws.
 * Where it takes an idempotency key, the key, its fingerprint and the answer are part of the same write and kept for
 * 24 hours: a later call with the key answers what the first one answered and changes nothing; throws
 * `idempotency_mismatch` for another fingerprint and `idempotency_in_flight` if the first one is not decided yet.
 * A write that throws stores no key.
 *
 * Throws `unavailable` when the store cannot be reached; then the write took effect wholly or not at all.
 */
export interface SessionStore {
  create(input: NewSession, idempotency: IdempotencyKey | null): Promise<Replayable<Session>>;
  get(key: SessionKey): Promise<Session | null>;
  /** Newest first. */
  list(query: SessionQuery): Promise<Page<Session>>;
  /**
   * Removes the session and all that is its own. A holder's next write throws `lease_lost`. Answers what was there, so
   * that the caller can tell its watchers and holder; null if unknown.
   */
  delete(key: SessionKey): Promise<Session | null>;
  /** By `seq`, ascending. Null if the session is unknown. */
  messages(key: SessionKey, page: PageQuery): Promise<Page<Message> | null>;
  turn(tenantId: string, turnId: string): Promise<Turn | null>;
  /** The ledger of one turn, by step and position. */
  toolCalls(tenantId: string, turnId: string): Promise<readonly ToolCall[]>;
  acceptTurn(
    key: SessionKey,
    command: AcceptTurn,
    idempotency: IdempotencyKey | null,
  ): Promise<Replayable<AcceptedTurn>>;
  settleInterrupt(
    key: SessionKey,
    command: SettleInterrupt,
    idempotency: IdempotencyKey | null,
  ): Promise<Replayable<Settlement>>;
  cancelTurn(
    key: SessionKey,
    command: CancelTurn,
    idempotency: IdempotencyKey | null,
  ): Promise<Replayable<Cancellation>>;
}
