import { ChangeBuilder, type Decided, type SessionAggregate } from './aggregate.ts';
import { cancelQueued } from './cancel-queued.ts';
import { askToEnd } from './decide-accept.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';

export interface CancelTurn {
  /** Null: the active turn. */
  readonly turnId: string | null;
}

export interface Cancellation {
  readonly session: Session;
  /** The turn that was asked to end or ended here; null where there was nothing to cancel. */
  readonly turn: Turn | null;
}

/**
 * Cancels the active turn (by an intent that its holder or the next one carries out) or one that is queued behind it
 * (at once). Repeated, or with nothing to cancel, it changes nothing.
 */
export function decideCancel(aggregate: SessionAggregate, command: CancelTurn, now: number): Decided<Cancellation> {
  const { session, turns } = aggregate;
  const target = command.turnId === null ? turns[0] : turns.find(({ id }) => id === command.turnId);
  if (target === undefined || target.cancel !== null) {
    return { result: { session, turn: target ?? null }, change: null };
  }
  const builder = new ChangeBuilder(aggregate, now);
  if (target === turns[0]) askToEnd(builder, target, 'requested', now);
  else cancelQueued(builder, target, 'requested', now);
  const change = builder.build();
  return { result: { session: change.session, turn: change.turns[0] ?? target }, change };
}
