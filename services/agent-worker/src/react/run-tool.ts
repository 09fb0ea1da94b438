import type { JsonObject } from '@turnwire/shared/domain/json';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import type { Tool } from '@turnwire/shared/ports/tool';
import { callHook, reasonOf } from '../call-hook.ts';
import { messageOf } from '../to-turn-error.ts';
import { turnContext } from '../turn-context.ts';
import type { EngineContext } from './engine.ts';
import type { Settlement } from './plan-call.ts';

/** A tool's error is said to the model in one short line, never with a stack. */
const MAX_ERROR_CHARS = 500;

/**
 * Runs one call to its end, its time-out or the signal's abort, whichever is first. Null: the signal stopped it, and
 * whether it took effect is not known. Never throws.
 */
export async function runTool(
  context: EngineContext,
  tool: Tool,
  call: ToolCall,
  args: JsonObject,
  signal: AbortSignal,
): Promise<Settlement | null> {
  const { hooks, clock } = context;
  const { id: toolCallId, name } = call;
  const note = editNote(call);
  try {
    const changed = await callHook(clock, signal, 'beforeToolUse', (hook) =>
      hooks.beforeToolUse?.(hook, { toolCallId, name, arguments: args }),
    );
    const ran = await runWithinLimit(context, tool, call, changed ?? args, signal);
    if (ran === null) return null;
    const { ok, result } = ran;
    const shown = await callHook(clock, signal, 'afterToolUse', (hook) =>
      hooks.afterToolUse?.(hook, { toolCallId, name, ok, result }),
    );
    return { state: ok ? 'done' : 'failed', content: shown ?? result, note };
  } catch (error) {
    if (signal.aborted) return null;
    turnContext().log.warn({ tool: name, toolCallId, err: error }, 'A hook around a tool failed.');
    return { state: 'failed', content: oneLine(reasonOf(error)), note };
  }
}

interface Ran {
  readonly ok: boolean;
  readonly result: string;
}

/** The tool's own signal aborts when it ends, whichever way, so that nothing of it goes on. */
async function runWithinLimit(
  { clock, agent }: EngineContext,
  tool: Tool,
  call: ToolCall,
  args: JsonObject,
  signal: AbortSignal,
): Promise<Ran | null> {
  const limitMs = tool.timeoutMs ?? agent.toolTimeoutMs;
  const controller = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<Ran | null>();
  const stopped = () => resolve(null);
  const stopTimer = clock.after(limitMs, () =>
    resolve({ ok: false, result: `The tool did not answer within ${limitMs} ms and was stopped.` }),
  );
  signal.addEventListener('abort', stopped, { once: true });
  try {
    return await Promise.race([ended, execute(tool, call, args, controller.signal)]);
  } finally {
    controller.abort(new Error('The tool call ended.'));
    stopTimer();
    signal.removeEventListener('abort', stopped);
  }
}

async function execute(tool: Tool, call: ToolCall, args: JsonObject, signal: AbortSignal): Promise<Ran> {
  const { tenantId, userId, sessionId, turnId, traceparent, log } = turnContext();
  const trace = traceparent === null ? {} : { traceparent };
  const { id: toolCallId, name, idempotencyKey } = call;
  try {
    const ids = { tenantId, userId, sessionId, turnId, toolCallId, idempotencyKey };
    return { ok: true, result: await tool.run(args, { ...ids, ...trace, signal }) };
  } catch (error) {
    log.info({ tool: name, toolCallId, err: error }, 'A tool failed.');
    return { ok: false, result: oneLine(messageOf(error)) };
  }
}

/**
 * The model asked for other arguments than those a person let it run with: without a word it would misread the result.
 * The person's are named, not those that a hook may have made of them.
 */
function editNote({ decision }: ToolCall): string | null {
  if (decision?.action !== 'edit') return null;
  return `A person set the arguments of this call to ${JSON.stringify(decision.arguments)}.`;
}

function oneLine(message: string): string {
  const line = message.replace(/\s+/g, ' ').trim();
  if (line === '') return 'The tool failed without saying why.';
  return line.length > MAX_ERROR_CHARS ? `${line.slice(0, MAX_ERROR_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…` : line;
}
