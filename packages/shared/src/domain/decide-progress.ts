import {
  ChangeBuilder,
  type Decided,
  type HolderWrite,
  markStep,
  runningTurn,
  type SessionAggregate,
} from './aggregate.ts';
import { type HolderResult, holderResult } from './decide-lease.ts';
import { AppError } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { NewMessage, RequestedCall } from './message.ts';
import { idempotencyKeyOf, isSettled, type SettledState, type ToolCall } from './tool-call.ts';
import type { Checkpoint } from './turn.ts';
import { addUsage, type Usage } from './usage.ts';

export interface BeginTurn {
  readonly write: HolderWrite;
  readonly turnId: string;
  readonly agentRevision: number;
  readonly userMessage: NewMessage;
  readonly checkpoint: Checkpoint;
}

/** The turn's first write: the user's message, the frozen prompt and the agent's revision. */
export function decideBegin(aggregate: SessionAggregate, command: BeginTurn, now: number): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  if (turn.checkpoint !== null) throw new AppError('transition_refused', `Turn ${turn.id} has begun already.`);
  builder.addMessage(turn.id, command.userMessage);
  const begun = { ...turn, checkpoint: command.checkpoint, agentRevision: command.agentRevision };
  builder.putTurn(begun);
  return builder.decided(holderResult(builder, begun));
}

export interface PlannedCall extends RequestedCall {
  readonly invalid: string | null;
}

export interface RecordStep {
  readonly write: HolderWrite;
  readonly turnId: string;
  readonly step: number;
  readonly message: { readonly id: string; readonly content: string };
  /** Not empty: a step without calls is the turn's last and is stored by its end. */
  readonly calls: readonly PlannedCall[];
  readonly usage: Usage;
}

/** Stores the assistant's message with its calls, before any of them starts. */
export function decideRecordStep(aggregate: SessionAggregate, command: RecordStep, now: number): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  const { step, calls } = command;
  if (step !== turn.steps + 1) throw new AppError('transition_refused', `Step ${step} does not follow ${turn.steps}.`);
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
  builder.addMessage(turn.id, { ...command.message, role: 'assistant', toolCalls });
  for (const [position, call] of calls.entries()) {
    builder.putToolCall(plannedCall(turn.id, step, position, call));
    const data = { step, toolCallId: call.id, name: call.name, arguments: call.arguments };
    builder.emit({ type: 'tool.call', turnId: turn.id, data, ts: now });
  }
  const stepped = { ...turn, steps: step, usage: addUsage(turn.usage, command.usage) };
  builder.putTurn(stepped);
  return builder.decided(holderResult(builder, markStep(builder, turn.id)));
}

function plannedCall(turnId: string, step: number, position: number, call: PlannedCall): ToolCall {
  return {
    ...call,
    turnId,
    step,
    position,
    state: 'planned',
    decision: null,
    result: null,
    idempotencyKey: idempotencyKeyOf(turnId, step, position),
    startedAt: null,
    finishedAt: null,
  };
}

export interface StartCalls {
  readonly write: HolderWrite;
  readonly turnId: string;
  /** Each with the arguments that it runs with (a person may have edited them). */
  readonly calls: readonly { readonly id: string; readonly arguments: JsonObject }[];
}

/** Marks calls as started, before their tools are called. */
export function decideStartCalls(aggregate: SessionAggregate, command: StartCalls, now: number): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  for (const { id, arguments: args } of command.calls) {
    const call = openCall(builder, id);
    builder.putToolCall({ ...call, arguments: args, state: 'started', startedAt: now });
  }
  return builder.decided(holderResult(builder, turn));
}

export interface CallOutcome {
  readonly callId: string;
  readonly messageId: string;
  readonly state: SettledState;
  /** What the model reads. */
  readonly content: string;
  /** What the event shows: `content`, or its beginning. */
  readonly shown: string;
  readonly truncated: boolean;
}

export interface RecordOutcomes {
  readonly write: HolderWrite;
  readonly turnId: string;
  readonly outcomes: readonly CallOutcome[];
}

/** Settles calls: ledger, result messages and events in one write. */
export function decideRecordOutcomes(
  aggregate: SessionAggregate,
  command: RecordOutcomes,
  now: number,
): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  for (const outcome of command.outcomes) settleCall(builder, openCall(builder, outcome.callId), outcome, now);
  return builder.decided(holderResult(builder, markStep(builder, turn.id)));
}

/** Writes one call's outcome. Also used by a turn's end for the calls that it leaves open. */
export function settleCall(builder: ChangeBuilder, call: ToolCall, outcome: CallOutcome, now: number): void {
  const ok = outcome.state === 'done';
  builder.putToolCall({ ...call, state: outcome.state, result: outcome.content, finishedAt: now });
  builder.addMessage(call.turnId, {
    id: outcome.messageId,
    role: 'tool',
    content: outcome.content,
    toolCallId: call.id,
    ...(ok ? {} : { status: 'error' as const }),
  });
  const durationMs = call.startedAt === null ? 0 : now - call.startedAt;
  const data = { toolCallId: call.id, name: call.name, ok, result: outcome.shown, durationMs };
  builder.emit({
    type: 'tool.result',
    turnId: call.turnId,
    data: outcome.truncated ? { ...data, truncated: true } : data,
    ts: now,
  });
}

function openCall(builder: ChangeBuilder, id: string): ToolCall {
  const call = builder.toolCalls.find((candidate) => candidate.id === id);
  if (call === undefined || isSettled(call)) throw new AppError('transition_refused', `Tool call ${id} is not open.`);
  return call;
}
