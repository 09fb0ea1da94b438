import type { AgentMode } from './agent.ts';
import { ChangeBuilder, type Decided, type HolderWrite, runningTurn, type SessionAggregate } from './aggregate.ts';
import { cancelQueued } from './cancel-queued.ts';
import { type HolderResult, holderResult } from './decide-lease.ts';
import { settleCall } from './decide-progress.ts';
import type { Message, MessageStatus } from './message.ts';
import { nextSessionState, type SessionTrigger } from './session.ts';
import { isSettled, type ToolCall } from './tool-call.ts';
import type { CancelIntent, Turn, TurnError } from './turn.ts';
import { addUsage, type Usage } from './usage.ts';

export type TurnOutcome =
  | { readonly status: 'COMPLETED' }
  | { readonly status: 'FAILED'; readonly error: TurnError }
  | { readonly status: 'CANCELLED' };

export interface FinishTurn {
  readonly write: HolderWrite;
  readonly turnId: string;
  readonly outcome: TurnOutcome;
  /** The text that clients have of the step in progress; empty where there is none. */
  readonly answer: { readonly messageId: string; readonly text: string; readonly truncated: boolean };
  /** Usage of the step in progress. */
  readonly usage: Usage;
  readonly mode: AgentMode;
  /** Whether a completed turn owes a memory extraction. */
  readonly extract: boolean;
}

/**
 * Ends a turn: its last message, its open calls, its status, the session's state and the terminal event in one write.
 * A stored intent to cancel wins over any other outcome.
 */
export function decideFinish(aggregate: SessionAggregate, command: FinishTurn, now: number): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  const outcome: TurnOutcome = turn.cancel === null ? command.outcome : { status: 'CANCELLED' };
  for (const call of builder.toolCalls.filter((candidate) => !isSettled(candidate))) closeCall(builder, call, now);
  const message = storeAnswer(builder, turn, outcome, command);
  if (turn.cancel?.reason === 'rolled_back') builder.rollBack(turn.id);
  const ended = endedTurn(builder, turn, outcome, command, now);
  builder.putTurn(ended);
  emitTerminal(builder, ended, outcome, message, now);
  moveSession(builder, ended, command.mode, now);
  const result = holderResult(builder, ended);
  return builder.decided({ ...result, session: builder.build().session, cancel: null });
}

function closeCall(builder: ChangeBuilder, call: ToolCall, now: number): void {
  const started = call.state === 'started';
  const content = started
    ? 'The turn ended while this tool ran; whether it took effect is unknown.'
    : 'Cancelled: the turn ended before this tool was run.';
  const messageId = `msg_${call.idempotencyKey}`;
  const state = started ? 'unknown' : 'rejected';
  settleCall(builder, call, { callId: call.id, messageId, state, content, shown: content, truncated: false }, now);
}

function storeAnswer(builder: ChangeBuilder, turn: Turn, outcome: TurnOutcome, { answer }: FinishTurn): Message | null {
  if (answer.text === '') return null;
  const status: MessageStatus | null =
    outcome.status !== 'COMPLETED' ? 'partial' : answer.truncated ? 'truncated' : null;
  return builder.addMessage(turn.id, {
    id: answer.messageId,
    role: 'assistant',
    content: answer.text,
    ...(status === null ? {} : { status }),
  });
}

function endedTurn(builder: ChangeBuilder, turn: Turn, outcome: TurnOutcome, command: FinishTurn, now: number): Turn {
  return {
    ...turn,
    status: outcome.status,
    steps: command.answer.text === '' ? turn.steps : turn.steps + 1,
    usage: addUsage(turn.usage, command.usage),
    error: outcome.status === 'FAILED' ? outcome.error : null,
    finishedAt: now,
    checkpoint: null,
    leasedMs: turn.leasedMs + (now - builder.session.lease.claimedAt),
    extraction: outcome.status === 'COMPLETED' && command.extract ? 'pending' : 'none',
  };
}

function emitTerminal(
  builder: ChangeBuilder,
  turn: Turn,
  outcome: TurnOutcome,
  message: Message | null,
  now: number,
): void {
  const turnId = turn.id;
  switch (outcome.status) {
    case 'COMPLETED':
      builder.emit({ type: 'done', turnId, data: { message, usage: turn.usage }, ts: now });
      return;
    case 'FAILED':
      builder.emit({ type: 'error', turnId, data: { ...outcome.error }, ts: now });
      return;
    case 'CANCELLED':
      builder.emit({ type: 'cancelled', turnId, data: { reason: turn.cancel?.reason ?? 'requested' }, ts: now });
      return;
  }
}

function moveSession(builder: ChangeBuilder, ended: Turn, mode: AgentMode, now: number): void {
  const queued = builder.openTurns;
  if (mode === 'task' && !leavesTaskOpen(ended.cancel, ended.startedAt)) {
    const triggers = { COMPLETED: 'complete', FAILED: 'fail', CANCELLED: 'cancel' } as const;
    const trigger: SessionTrigger = triggers[ended.status as keyof typeof triggers];
    for (const turn of queued) cancelQueued(builder, turn, 'session_ended', now);
    builder.setSession({ state: nextSessionState(builder.session.state, trigger), activeTurnId: null });
    return;
  }
  const trigger: SessionTrigger = queued.length > 0 ? 'next' : 'rest';
  builder.setSession({
    state: nextSessionState(builder.session.state, trigger),
    activeTurnId: queued[0]?.id ?? null,
  });
}

/** Cancels by `onBusy`, and of turns that never started, end the turn alone. */
function leavesTaskOpen(cancel: CancelIntent | null, startedAt: number | null): boolean {
  return cancel !== null && (cancel.reason === 'interrupted' || cancel.reason === 'rolled_back' || startedAt === null);
}
