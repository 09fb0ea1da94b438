import { addUsage, NO_USAGE } from '@turnwire/shared/domain/usage';
import type { ModelRequest } from '@turnwire/shared/ports/language-model';
import type { Tool } from '@turnwire/shared/ports/tool';
import { callHook } from '../call-hook.ts';
import { turnContext } from '../turn-context.ts';
import type { TurnState } from '../turn-state.ts';
import { buildRequest } from './build-request.ts';
import type { EngineContext, Piece } from './engine.ts';
import { classifyReply, type ModelReply } from './model-reply.ts';
import { nameCalls } from './name-calls.ts';
import { type RawReply, readReply } from './read-reply.ts';
import { retryDelay } from './retry-delay.ts';

export interface ModelCall {
  readonly state: TurnState;
  readonly tools: readonly Tool[];
  readonly step: number;
  readonly signal: AbortSignal;
}

const NUDGE = 'Your last reply was empty. Answer the user, or call a tool.';

/** One step's call of the model: what broke is tried again, and a model that says nothing is asked once more. */
export async function* callModel(context: EngineContext, call: ModelCall): AsyncGenerator<Piece, ModelReply> {
  const first = yield* callOnce(context, call, []);
  if (first.kind !== 'empty') return first;
  yield { type: 'turn.reset', data: { step: call.step } };
  const second = yield* callOnce(context, call, [NUDGE]);
  if (second.kind === 'stopped') return second;
  return { ...second, usage: addUsage(first.usage, second.usage) };
}

async function* callOnce(
  context: EngineContext,
  call: ModelCall,
  reminders: readonly string[],
): AsyncGenerator<Piece, ModelReply> {
  const { hooks, clock, agent } = context;
  const { step, signal, state } = call;
  const built = buildRequest(agent, call, reminders);
  const changed = await callHook(clock, signal, 'beforeModel', (hook) =>
    hooks.beforeModel?.(hook, { agent, step, request: built }),
  );
  const raw = yield* readWithRetries(context, call, changed ?? built);
  if (signal.aborted) return { kind: 'stopped' };
  const { text, usage, failure } = raw;
  if (failure !== null) return { kind: 'failed', error: { code: failure.code, message: failure.message }, usage };
  const calls = nameCalls(raw.calls, call.tools, state, context.ids);
  const toolNames = calls.map(({ name }) => name);
  await callHook(clock, signal, 'afterModel', (hook) => hooks.afterModel?.(hook, { step, text, toolNames, usage }));
  return classifyReply(raw, calls);
}

async function* readWithRetries(
  { model, clock, ids }: EngineContext,
  { step, signal }: ModelCall,
  request: ModelRequest,
): AsyncGenerator<Piece, RawReply> {
  let usage = NO_USAGE;
  let waitedMs = 0;
  for (let failures = 1; ; failures += 1) {
    const raw = yield* readReply(model, request, step, signal);
    usage = addUsage(usage, raw.usage);
    if (raw.failure === null || signal.aborted) return { ...raw, usage };
    const delay = retryDelay(raw.failure, failures, waitedMs, ids.random());
    if (delay === null) return { ...raw, usage };
    turnContext().log.warn({ step, failures, delay, reason: raw.failure.message }, 'The model call is tried again.');
    if (raw.shown) yield { type: 'turn.reset', data: { step } };
    await clock.sleep(delay, signal);
    waitedMs += delay;
    if (signal.aborted) return { ...raw, usage };
  }
}
