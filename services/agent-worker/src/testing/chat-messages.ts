import type { ModelMessage } from '@turnwire/shared/ports/language-model';

/** Messages as they go over the wire, for a judge that knows the wire alone. */
export function toChatMessages(messages: readonly ModelMessage[]) {
  return messages.map(toChatMessage);
}

function toChatMessage(message: ModelMessage) {
  const { role, content } = message;
  if (role === 'tool') return { role, content, tool_call_id: message.toolCallId };
  if (role !== 'assistant' || message.toolCalls.length === 0) return { role, content };
  const toolCalls = message.toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return { role, content, tool_calls: toolCalls };
}
