import type { ModelMessage } from '@turnwire/shared/ports/language-model';
import { callText } from './call-text.ts';
import { RESULT_CLOSE, RESULT_OPEN } from './tags.ts';

/**
 * A conversation for a model that knows neither tool calls nor the role `tool`: calls are text of the assistant's
 * message, the results of a message's calls one message of the user, in the order of the calls, as in the chat
 * templates of Hermes and Qwen. What follows it from the user joins it, since some templates insist on alternating
 * roles. Nothing else is changed, but that neither a result nor a user can write the tags of a result.
 */
export function toTextMode(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const converted: ModelMessage[] = [];
  for (const message of messages) {
    const next = toText(message);
    const last = converted.at(-1);
    if (last?.role === 'user' && next.role === 'user') {
      const content = `${last.content}${message.role === 'tool' ? '\n' : '\n\n'}${next.content}`;
      converted[converted.length - 1] = { role: 'user', content };
    } else converted.push(next);
  }
  return converted;
}

function toText(message: ModelMessage): ModelMessage {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return { role: 'user', content: withoutTags(message.content, USER_TAGS) };
    case 'tool':
      return { role: 'user', content: `${RESULT_OPEN}\n${withoutTags(message.content, ALL_TAGS)}\n${RESULT_CLOSE}` };
    case 'assistant': {
      const calls = message.toolCalls.map(({ name, arguments: args }) => callText(name, args));
      const parts = message.content.trim() === '' ? calls : [message.content, ...calls];
      return { role: 'assistant', content: parts.join('\n'), toolCalls: [] };
    }
  }
}

/** Also as a model would still take them: with white space and in any case. */
const USER_TAGS = /<(?=\s*\/?\s*tool_response)/gi;
const ALL_TAGS = /<(?=\s*\/?\s*tool_(?:response|call))/gi;

/** A result that closed its tag could speak for the user, and a user who opened one could invent results. */
function withoutTags(content: string, tags: RegExp): string {
  return content.replace(tags, '&lt;');
}
