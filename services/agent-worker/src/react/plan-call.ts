import type { JsonObject } from '@turnwire/shared/domain/json';
import type { SettledState, ToolCall } from '@turnwire/shared/domain/tool-call';
import type { Tool } from '@turnwire/shared/ports/tool';
import type { ArgumentValidator } from '../tools/argument-validator.ts';

/** A call's end: what the model is told of it. */
export interface Settlement {
  readonly state: SettledState;
  readonly content: string;
  /** Said to the model before the content; null: nothing. */
  readonly note: string | null;
}

export type CallPlan =
  | { readonly kind: 'run'; readonly tool: Tool; readonly arguments: JsonObject }
  | ({ readonly kind: 'settle' } & Settlement);

const OUTCOME_UNKNOWN =
  'This tool was interrupted while it ran. Whether it took effect is unknown; check before you call it again.';

/** What is to be done with an open call, by its ledger record alone. */
export function planCall(call: ToolCall, tools: ReadonlyMap<string, Tool>, validate: ArgumentValidator): CallPlan {
  const { decision, invalid, name } = call;
  if (decision?.action === 'reject') return settle('rejected', rejection(decision.reason));
  if (decision?.action === 'respond') return settle('done', toText(decision.result));
  if (invalid !== null) return settle('failed', invalid);
  const tool = tools.get(name);
  if (call.state === 'started' && tool?.idempotent !== true) return settle('unknown', OUTCOME_UNKNOWN);
  if (tool === undefined) return settle('failed', unknownTool(name, tools));
  const args = decision?.action === 'edit' ? decision.arguments : call.arguments;
  const wrong = validate(tool, args);
  if (wrong !== null) return settle('failed', wrong);
  return { kind: 'run', tool, arguments: args };
}

function settle(state: SettledState, content: string): CallPlan {
  return { kind: 'settle', state, content, note: null };
}

function rejection(reason: string | undefined): string {
  return reason === undefined || reason === ''
    ? 'A person rejected this call.'
    : `A person rejected this call: ${reason}`;
}

function toText(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result);
}

function unknownTool(name: string, tools: ReadonlyMap<string, Tool>): string {
  if (name.startsWith('mcp:')) return `"${name}" is not there now: its server cannot be reached, or has it no longer.`;
  const names = [...tools.keys()].join(', ');
  return names === ''
    ? `There is no tool "${name}", and no other one either.`
    : `There is no tool "${name}". There are: ${names}.`;
}
