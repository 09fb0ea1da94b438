import type { Agent } from '@turnwire/shared/domain/agent';
import type { ModelMessage, ModelRequest, ToolDefinition } from '@turnwire/shared/ports/language-model';
import type { Tool } from '@turnwire/shared/ports/tool';
import { modelToolName } from '../tools/model-tool-name.ts';
import type { TurnState } from '../turn-state.ts';
import { leadingMessage } from './leading-message.ts';
import { repairHistory } from './repair-history.ts';

/** What the model is sent for one step, rebuilt each time from the turn's state. */
export function buildRequest(
  agent: Agent,
  { state, tools, step }: { readonly state: TurnState; readonly tools: readonly Tool[]; readonly step: number },
  reminders: readonly string[],
): ModelRequest {
  const rules = leadingMessage(agent, state.turn.checkpoint, step);
  // An agent without prompt and tools has none to give, and several providers refuse an empty message.
  const leading: ModelMessage[] = rules === '' ? [] : [{ role: 'system', content: rules }];
  const history = repairHistory(state.messages).map(namedForModel);
  const reminded = [...(state.turn.checkpoint?.reminders ?? []), ...reminders];
  const last: ModelMessage[] = reminded.map((content) => ({ role: 'user', content }));
  return {
    settings: agent.model,
    messages: [...leading, ...history, ...last],
    tools: tools.map(toDefinition),
    responseFormat: null,
  };
}

function toDefinition({ definition }: Tool): ToolDefinition {
  return { ...definition, name: modelToolName(definition.name) };
}

function namedForModel(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || message.toolCalls.length === 0) return message;
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, name: modelToolName(call.name) })) };
}
