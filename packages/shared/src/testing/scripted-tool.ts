import type { JsonObject } from '../domain/json.ts';
import type { Tool, ToolCallContext } from '../ports/tool.ts';

export interface ScriptedTool extends Tool {
  /** What it was called with, in order. */
  readonly runs: readonly { readonly args: JsonObject; readonly context: ToolCallContext }[];
}

/** A tool that does what the test says, and keeps how it was called. */
export function createScriptedTool(
  name: string,
  run: (args: JsonObject, context: ToolCallContext) => Promise<string> | string,
  options: Partial<Pick<Tool, 'idempotent' | 'timeoutMs'>> & { readonly parameters?: JsonObject } = {},
): ScriptedTool {
  const { idempotent = false, timeoutMs = null, parameters = { type: 'object' } } = options;
  const runs: { args: JsonObject; context: ToolCallContext }[] = [];
  return {
    runs,
    definition: { name, description: `Does ${name}.`, parameters },
    idempotent,
    timeoutMs,
    async run(args, context) {
      runs.push({ args, context });
      return run(args, context);
    },
  };
}
