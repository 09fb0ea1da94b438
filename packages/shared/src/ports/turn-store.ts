import type { HolderWrite } from '../domain/aggregate.ts';
import type { Claim, ClaimCommand } from '../domain/decide-claim.ts';
import type { FinishTurn } from '../domain/decide-finish.ts';
import type { HolderResult, Released, Renewal } from '../domain/decide-lease.ts';
import type { BeginTurn, RecordOutcomes, RecordStep, StartCalls } from '../domain/decide-progress.ts';
import type { SuspendTurn } from '../domain/decide-suspend.ts';
import type { OutboxEntry } from '../domain/event.ts';
import type { Message } from '../domain/message.ts';
import type { SessionKey } from '../domain/tenant.ts';

/** A session that needs a worker although nobody may have woken one. */
export interface DueSession extends SessionKey {
  readonly turnId: string | null;
}

/**
 * What the holder of a session's lease does to the turn that it runs.
 *
 * Every write is atomic, decided by the domain function of its command (`domain/decide-*`), and carries the lease's
 * token: it throws `lease_lost` and stores nothing when another has claimed since or the session is gone. A lease that
 * ran out but was not claimed by another still writes. Throws `unavailable` when the store cannot be reached, and where
 * it is not known whether the write took effect; tried again, one that did throws `transition_refused`.
 */
export interface TurnStore {
  /** Takes the session's lease if it is free and there is something to do; null otherwise, also for an unknown session. */
  claim(key: SessionKey, command: ClaimCommand): Promise<Claim | null>;
  renew(key: SessionKey, command: { readonly token: number; readonly leaseMs: number }): Promise<Renewal>;
  adoptOutbox(key: SessionKey, command: { readonly write: HolderWrite }): Promise<readonly OutboxEntry[]>;
  begin(key: SessionKey, command: BeginTurn): Promise<HolderResult>;
  recordStep(key: SessionKey, command: RecordStep): Promise<HolderResult>;
  startCalls(key: SessionKey, command: StartCalls): Promise<HolderResult>;
  recordOutcomes(key: SessionKey, command: RecordOutcomes): Promise<HolderResult>;
  suspend(key: SessionKey, command: SuspendTurn): Promise<HolderResult>;
  finish(key: SessionKey, command: FinishTurn): Promise<HolderResult>;
  release(key: SessionKey, command: { readonly write: HolderWrite }): Promise<Released>;
  /**
   * The newest messages, by `seq` ascending: at most `maxMessages` of them, and no more than `maxChars` characters of
   * content beyond the first. May begin in the middle of a turn; the reader repairs that.
   */
  history(
    key: SessionKey,
    limits: { readonly maxMessages: number; readonly maxChars: number },
  ): Promise<readonly Message[]>;
  /**
   * Sessions whose `dueAt` has come, longest due first, at most `limit`. Each is not answered again for `retryAfterMs`
   * unless its `dueAt` changes, so that a long backlog does not hide the rest. Safe to call from many workers.
   */
  takeDue(limit: number, retryAfterMs: number): Promise<readonly DueSession[]>;
}
