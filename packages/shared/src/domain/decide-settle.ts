import { ChangeBuilder, type Decided, type SessionAggregate } from './aggregate.ts';
import { AppError } from './errors.ts';
import type { Decision, Interrupt } from './interrupt.ts';
import { jsonEqual } from './json.ts';
import { nextSessionState, type Session } from './session.ts';
import type { ToolCall } from './tool-call.ts';
import type { Checkpoint, Turn } from './turn.ts';

export interface SettleInterrupt {
  /** Null: whichever is open. */
  readonly interruptId: string | null;
  readonly decisions: Readonly<Record<string, Decision>>;
  /** For every open call that `decisions` does not name; null leaves those undecided. */
  readonly others: Decision | null;
  /** Guidance for the model, when a pause (`idle`, `repeated_error`) is resumed. */
  readonly text: string | null;
}

export interface Settlement {
  readonly session: Session;
  readonly turn: Turn;
  /** False: calls are still undecided and the session goes on waiting. */
  readonly settled: boolean;
  /** The turn's events from `turn.resumed` on have a greater id. */
  readonly cursor: number;
}

/**
 * Records a person's decisions. The last missing one sends the turn back to the queue, first in line.
 *
 * Throws `session_not_waiting`, `interrupt_stale` (another interrupt, or a call that is not of it),
 * `interrupt_expired`, `decision_conflict` (a decision that was made is to be changed), `invalid_request`.
 */
export function decideSettle(aggregate: SessionAggregate, command: SettleInterrupt, now: number): Decided<Settlement> {
  const { session } = aggregate;
  const interrupt = openInterrupt(session, command.interruptId, now);
  if (interrupt.reason === 'tool_approval') return settleApproval(aggregate, interrupt, command, now);
  if (!isPlainApproval(command)) {
    throw new AppError('invalid_request', `A pause (${interrupt.reason}) is resumed with "text", not with decisions.`);
  }
  const builder = new ChangeBuilder(aggregate, now);
  return sendBack(builder, waitingTurn(aggregate), command.text);
}

/** What an empty body says, which lets anything that waits go on. */
function isPlainApproval({ decisions, others }: SettleInterrupt): boolean {
  return Object.keys(decisions).length === 0 && (others === null || others.action === 'approve');
}

function openInterrupt(session: Session, interruptId: string | null, now: number): Interrupt {
  const { state, interrupt } = session;
  if (state !== 'WAITING' || interrupt === null) {
    throw new AppError('session_not_waiting', `The session is ${state} and waits for no decision.`, {
      details: { state },
    });
  }
  if (interruptId !== null && interruptId !== interrupt.id) {
    throw new AppError('interrupt_stale', `Interrupt ${interruptId} is not the open one (${interrupt.id}).`, {
      details: { interruptId: interrupt.id },
    });
  }
  if (interrupt.expiresAt !== null && interrupt.expiresAt <= now) {
    throw new AppError('interrupt_expired', 'The time to decide has passed.', {
      details: { expiresAt: new Date(interrupt.expiresAt).toISOString() },
    });
  }
  return interrupt;
}

function settleApproval(
  aggregate: SessionAggregate,
  interrupt: Interrupt,
  command: SettleInterrupt,
  now: number,
): Decided<Settlement> {
  if (command.text !== null) {
    throw new AppError('invalid_request', '"text" resumes a pause; give "decisions" or an "action" for tool calls.');
  }
  const asked = new Set(interrupt.toolCalls.map(({ id }) => id));
  const stranger = Object.keys(command.decisions).find((id) => !asked.has(id));
  if (stranger !== undefined) {
    throw new AppError('interrupt_stale', `Tool call ${stranger} is not among those to decide.`, {
      details: { toolCallIds: [...asked] },
    });
  }
  const builder = new ChangeBuilder(aggregate, now);
  const calls = aggregate.toolCalls.filter(({ id }) => asked.has(id)).map((call) => decide(call, command));
  const turn = waitingTurn(aggregate);
  if (calls.every(({ decision }) => decision !== null)) {
    for (const call of calls) builder.putToolCall({ ...call, state: 'planned' });
    return sendBack(builder, turn, null);
  }
  for (const call of calls) builder.putToolCall(call);
  const { session } = builder.build();
  return builder.decided({ session, turn, settled: false, cursor: session.lastEventId });
}

function decide(call: ToolCall, command: SettleInterrupt): ToolCall {
  const decision = Object.hasOwn(command.decisions, call.id) ? command.decisions[call.id] : undefined;
  if (decision === undefined) return { ...call, decision: call.decision ?? command.others };
  if (call.decision !== null && !jsonEqual(call.decision, decision)) {
    throw new AppError('decision_conflict', `Tool call ${call.id} was decided already and stays so.`, {
      details: { toolCallId: call.id, decided: call.decision.action },
    });
  }
  return { ...call, decision };
}

/** Sends the turn to the head of the line, with what a person wants the model to know. */
function sendBack(builder: ChangeBuilder, turn: Turn, guidance: string | null): Decided<Settlement> {
  const checkpoint = guidance === null ? turn.checkpoint : withReminder(turn.checkpoint, guidance);
  const queued: Turn = { ...turn, status: 'QUEUED', queuedAs: 'resumed', checkpoint };
  builder.putTurn(queued);
  builder.setSession({ state: nextSessionState(builder.session.state, 'resume'), interrupt: null });
  const { session } = builder.build();
  return builder.decided({ session, turn: queued, settled: true, cursor: session.lastEventId });
}

/** A turn without a checkpoint has not begun, and so never paused. */
function withReminder(checkpoint: Checkpoint | null, text: string): Checkpoint | null {
  return checkpoint === null ? null : { ...checkpoint, reminders: [...checkpoint.reminders, text] };
}

function waitingTurn({ session, turns }: SessionAggregate): Turn {
  const head = turns[0];
  if (head?.status !== 'WAITING')
    throw new AppError('transition_refused', `Session ${session.id} has no waiting turn.`);
  return head;
}
