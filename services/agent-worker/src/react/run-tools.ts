import type { CallOutcome } from '@turnwire/shared/domain/decide-progress';
import type { JsonObject } from '@turnwire/shared/domain/json';
import { isSettled, type ToolCall } from '@turnwire/shared/domain/tool-call';
import type { Tool } from '@turnwire/shared/ports/tool';
import type { TurnState } from '../turn-state.ts';
import { cutResult } from './cut-result.ts';
import type { EngineContext } from './engine.ts';
import { planCall, type Settlement } from './plan-call.ts';
import { runTool } from './run-tool.ts';

/** The calls of the turn's newest step that have no result yet. */
export function openCalls({ turn, toolCalls }: TurnState): readonly ToolCall[] {
  return toolCalls.filter((call) => call.step === turn.steps && !isSettled(call));
}

/**
 * Settles the open calls of a step: those that need no run at once, the others in parallel, each result stored as it
 * comes. One that fails or is slow does not disturb the others. What the signal stops is left open.
 */
export async function runTools(
  context: EngineContext,
  state: TurnState,
  tools: readonly Tool[],
  signal: AbortSignal,
): Promise<void> {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const settled: CallOutcome[] = [];
  const runnable: { call: ToolCall; tool: Tool; args: JsonObject }[] = [];
  for (const call of openCalls(state)) {
    const plan = planCall(call, byName, context.validate);
    if (plan.kind === 'run') runnable.push({ call, tool: plan.tool, args: plan.arguments });
    else settled.push(toOutcome(context, call, plan));
  }
  if (settled.length > 0) await state.recordOutcomes(settled);
  // A cancel that came to light with the outcomes, or with the start: then nothing runs.
  if (runnable.length === 0 || signal.aborted) return;
  await state.startCalls(runnable.map(({ call, args }) => ({ id: call.id, arguments: args })));
  const runs = runnable.map(async ({ call, tool, args }) => {
    const result = await runTool(context, tool, call, args, signal);
    if (result !== null) await state.recordOutcomes([toOutcome(context, call, result)]);
  });
  // Each has its own end; the first error of ours is told when none runs any more.
  const failure = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

function toOutcome({ ids, metrics }: EngineContext, call: ToolCall, { state, content, note }: Settlement): CallOutcome {
  metrics.toolCallSettled(state);
  const { kept, shown, truncated } = cutResult(content);
  const told = note === null ? kept : `${note}\n${kept}`;
  return { callId: call.id, messageId: ids.next('msg'), state, content: told, shown, truncated };
}
