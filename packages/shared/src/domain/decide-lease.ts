import {
  ChangeBuilder,
  type Decided,
  type HolderWrite,
  type SessionAggregate,
  type SessionChange,
} from './aggregate.ts';
import { leaseLost } from './errors.ts';
import type { OutboxEntry } from './event.ts';
import type { Message } from './message.ts';
import type { Session } from './session.ts';
import type { ToolCall } from './tool-call.ts';
import type { CancelIntent, Turn } from './turn.ts';

/** What every write of a holder answers. */
export interface HolderResult {
  readonly session: Session;
  /** The turn that was written to, as stored now. */
  readonly turn: Turn;
  readonly toolCalls: readonly ToolCall[];
  /** Messages that this write added. */
  readonly messages: readonly Message[];
  /** All that is still to be published, in order, each with an id. */
  readonly outbox: readonly OutboxEntry[];
  /** A stored intent to cancel that this write did not carry out. */
  readonly cancel: CancelIntent | null;
}

export function holderResult(builder: ChangeBuilder, turn: Turn): HolderResult {
  const { session, toolCalls, messages, numbered } = builder;
  return { session, turn, toolCalls, messages, outbox: numbered, cancel: turn.cancel };
}

export interface Renewal {
  readonly expiresAt: number;
  readonly cancel: CancelIntent | null;
  /** The outbox has entries without an id: call `adoptOutbox`. */
  readonly outboxWaits: boolean;
}

/** Extends the lease. Reads the stored intent to cancel on the way, since a signal may have been lost. */
export function decideRenew(
  aggregate: SessionAggregate,
  command: { readonly token: number; readonly leaseMs: number },
  now: number,
): Decided<Renewal> {
  const { session, turns } = aggregate;
  if (session.lease.token !== command.token || session.lease.holder === null)
    throw leaseLost(session.id, command.token);
  const builder = new ChangeBuilder(aggregate, now);
  const expiresAt = now + command.leaseMs;
  builder.setSession({ lease: { ...session.lease, expiresAt } });
  return builder.decided({
    expiresAt,
    cancel: turns[0]?.cancel ?? null,
    outboxWaits: session.outbox.some(({ id }) => id === null),
  });
}

/** Lets the lease of a holder that is known to be dead run out. Null: nobody holds it. */
export function decideExpireLease(aggregate: SessionAggregate, now: number): SessionChange | null {
  const { lease } = aggregate.session;
  if (lease.holder === null) return null;
  const builder = new ChangeBuilder(aggregate, now);
  // Not later than it was to end: time between the death and now is nobody's leased time. Not later than now either,
  // should the machine's clock have been set back.
  const expiresAt = Math.min(lease.expiresAt, now);
  builder.setSession({ lease: { ...lease, claimedAt: Math.min(lease.claimedAt, expiresAt), expiresAt } });
  return builder.build();
}

/** Numbers what others put into the outbox, so that the holder can publish it. */
export function decideAdoptOutbox(
  aggregate: SessionAggregate,
  command: { readonly write: HolderWrite },
  now: number,
): Decided<readonly OutboxEntry[]> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  return builder.decided(builder.numbered);
}

/** Whether there is more to do at once, so that the releasing holder wakes a worker. */
export interface Released {
  readonly wake: boolean;
}

/** Gives the lease back. A turn that still runs goes back to the queue, first in line and without a new attempt. */
export function decideRelease(
  aggregate: SessionAggregate,
  command: { readonly write: HolderWrite },
  now: number,
): Decided<Released> {
  // A holder that never got the answer to its last write does not know of the ids that it gave. It may still let go.
  const nextEventId = Math.max(command.write.nextEventId, aggregate.session.lastEventId + 1);
  const builder = new ChangeBuilder(aggregate, now).asHolder({ ...command.write, nextEventId });
  const { lease } = builder.session;
  const head = aggregate.turns[0];
  if (head?.status === 'RUNNING') {
    const leasedMs = head.leasedMs + (now - lease.claimedAt);
    builder.putTurn({ ...head, status: 'QUEUED', queuedAs: 'released', leasedMs });
  }
  builder.setSession({ lease: { ...lease, holder: null, expiresAt: 0 } });
  const change = builder.build();
  return { result: { wake: change.session.dueAt !== null && change.session.dueAt <= now }, change };
}
