import type { Message, RequestedCall } from '@turnwire/shared/domain/message';
import type { ModelMessage } from '@turnwire/shared/ports/language-model';

const NO_RESULT = 'No result of this call was recorded; whether it took effect is unknown.';
/** Several providers refuse an empty message. */
const EMPTY_RESULT = '(no output)';

/**
 * Turns stored messages into a conversation that every provider takes: it begins with a user's message, every tool
 * call is answered exactly once and right after the message that made it, and nothing else is answered. Changes nothing
 * of a history that is whole.
 */
export function repairHistory(messages: readonly Message[]): readonly ModelMessage[] {
  const start = messages.findIndex(({ role }) => role === 'user');
  const repaired: ModelMessage[] = [];
  const seen = new Set<string>();
  for (let i = Math.max(start, 0); i < messages.length; i += 1) {
    const message = messages[i];
    if (message === undefined || message.role === 'tool') continue;
    if (message.role === 'user') {
      repaired.push({ role: 'user', content: message.content });
      continue;
    }
    const toolCalls = (message.toolCalls ?? []).filter(({ id }) => !seen.has(id));
    if (message.content.trim() === '' && toolCalls.length === 0) continue;
    for (const { id } of toolCalls) seen.add(id);
    repaired.push({ role: 'assistant', content: message.content, toolCalls });
    repaired.push(...answersTo(toolCalls, messages, i));
  }
  return start === -1 ? [] : repaired;
}

/** The results of a message's calls, from wherever they stand before the next message that makes calls. */
function answersTo(calls: readonly RequestedCall[], messages: readonly Message[], from: number): ModelMessage[] {
  const results = new Map<string, string>();
  for (let i = from + 1; i < messages.length; i += 1) {
    const message = messages[i];
    if (message === undefined || (message.role === 'assistant' && message.toolCalls !== undefined)) break;
    const id = message.toolCallId;
    if (message.role === 'tool' && id !== undefined && !results.has(id))
      results.set(id, message.content.trim() === '' ? EMPTY_RESULT : message.content);
  }
  return calls.map(({ id }) => ({ role: 'tool', toolCallId: id, content: results.get(id) ?? NO_RESULT }));
}
