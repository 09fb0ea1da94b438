import { ChangeBuilder, type Decided, type SessionAggregate } from './aggregate.ts';
import { cancelQueued } from './cancel-queued.ts';
import { AppError } from './errors.ts';
import { nextSessionState, type Session } from './session.ts';
import type { CancelIntent, OnBusy, Turn } from './turn.ts';
import { NO_USAGE } from './usage.ts';

export interface AcceptTurn {
  readonly turnId: string;
  readonly text: string;
  readonly onBusy: OnBusy;
}

export interface AcceptedTurn {
  readonly session: Session;
  readonly turn: Turn;
  /** Turns ahead of it. */
  readonly position: number;
  /** Every event of this turn has a greater id. */
  readonly cursor: number;
}

/** Accepts a user's text; with `interrupt` and `rollback`, asks the turn that runs to end in the same write. */
export function decideAccept(aggregate: SessionAggregate, command: AcceptTurn, now: number): Decided<AcceptedTurn> {
  const { session, turns } = aggregate;
  const state = nextSessionState(session.state, 'accept');
  const active = turns[0];
  if (active !== undefined && command.onBusy === 'reject') {
    throw new AppError('session_busy', `The session is busy (${session.state}).`, {
      details: { state: session.state },
    });
  }
  const builder = new ChangeBuilder(aggregate, now);
  const number = session.turnCount + 1;
  const turn = newTurn(session, command, number, now);
  builder.setSession({ state, turnCount: number, activeTurnId: session.activeTurnId ?? turn.id });
  builder.putTurn(turn);
  if (command.onBusy === 'interrupt') endRunning(builder, turns, 'interrupted', now);
  if (command.onBusy === 'rollback') endRunning(builder, turns, 'rolled_back', now);
  const cursor = session.lastEventId;
  const change = builder.build();
  return { result: { session: change.session, turn, position: turns.length, cursor }, change };
}

/**
 * Ends the turn that runs. One that has been asked to end counts as ended: else it would depend on the speed of its
 * worker whether the next in line is meant.
 */
function endRunning(
  builder: ChangeBuilder,
  turns: readonly Turn[],
  reason: 'interrupted' | 'rolled_back',
  now: number,
): void {
  const [active] = turns;
  const running = turns.find(({ cancel }) => cancel === null) ?? active;
  if (running === undefined) return;
  if (running === active) askToEnd(builder, running, reason, now);
  else cancelQueued(builder, running, reason, now);
}

/**
 * Stores the intent to cancel the active turn. Whoever holds or next claims the lease carries it out. A turn that is
 * asked to end already stays so, but for its messages: to roll it back replaces any other reason.
 */
export function askToEnd(builder: ChangeBuilder, active: Turn, reason: CancelIntent['reason'], now: number): void {
  if (active.cancel !== null && reason !== 'rolled_back') return;
  const cancel: CancelIntent = { reason, requestedAt: active.cancel?.requestedAt ?? now };
  if (active.status !== 'WAITING') {
    builder.putTurn({ ...active, cancel });
    return;
  }
  builder.putTurn({ ...active, cancel, status: 'QUEUED', queuedAs: 'resumed' });
  builder.setSession({ interrupt: null, state: nextSessionState('WAITING', 'resume') });
}

function newTurn(session: Session, command: AcceptTurn, number: number, now: number): Turn {
  return {
    id: command.turnId,
    tenantId: session.tenantId,
    sessionId: session.id,
    userId: session.userId,
    agentId: session.agentId,
    number,
    status: 'QUEUED',
    text: command.text,
    attempt: 0,
    steps: 0,
    usage: NO_USAGE,
    error: null,
    createdAt: now,
    startedAt: null,
    finishedAt: null,
    queuedAs: 'new',
    cancel: null,
    agentRevision: null,
    checkpoint: null,
    eventsFrom: 0,
    leasedMs: 0,
    extraction: 'none',
  };
}
