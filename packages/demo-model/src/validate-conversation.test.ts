import { describe, expect, test } from 'vitest';
import type { ChatMessage } from './chat-request.ts';
import { validateConversation } from './validate-conversation.ts';
import { validateTools } from './validate-tools.ts';

const user: ChatMessage = { role: 'user', content: 'hi' };
const system: ChatMessage = { role: 'system', content: 'be kind' };
const call = (id: string, args = '{}', name = 'tool') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const calling = (...tool_calls: ReturnType<typeof call>[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls,
});
const answer = (tool_call_id: string, content = 'ok'): ChatMessage => ({ role: 'tool', tool_call_id, content });

describe('validateConversation', () => {
  test.each<[string, ChatMessage[]]>([
    ['a user message', [user]],
    ['a system message first', [system, user]],
    ['calls answered in another order', [user, calling(call('a'), call('b')), answer('b'), answer('a')]],
    ['two rounds', [user, calling(call('a')), answer('a'), calling(call('b')), answer('b')]],
    [
      'text beside calls, and parts',
      [
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: 'let me look', tool_calls: [call('a', '{"x":1}')] },
        answer('a'),
        { role: 'assistant', content: 'done' },
        user,
      ],
    ],
    ['a picture without text', [{ role: 'user', content: [{ type: 'image_url' }] }]],
  ])('accepts %s', (_name, messages) => {
    expect(validateConversation(messages)).toEqual([]);
  });

  test.each<[string, ChatMessage[], RegExp]>([
    ['no message', [], /empty/],
    ['a system message later', [user, system, user], /only at the start/],
    ['a second system message', [system, system, user], /only once/],
    ['an unknown role', [{ role: 'narrator', content: 'x' }, user], /unknown role/],
    ['an assistant message last', [user, { role: 'assistant', content: 'x' }], /last message/],
    ['an unanswered call', [user, calling(call('a')), user], /'a' is not answered before messages\[2\]/],
    [
      'an unanswered call at the end',
      [user, calling(call('a'), call('b')), answer('a')],
      /'b' is not answered before the end/,
    ],
    ['an answer that comes too late', [user, calling(call('a')), user, answer('a')], /not right after/],
    ['two answers', [user, calling(call('a')), answer('a'), answer('a')], /answered twice/],
    ['an orphan', [user, answer('z')], /no tool call 'z'/],
    [
      'an answer without an id',
      [user, calling(call('a')), answer('a'), { role: 'tool', content: 'x' }],
      /without tool_call_id/,
    ],
    ['an id used twice', [user, calling(call('a')), answer('a'), calling(call('a')), answer('a')], /used twice/],
    ['an id used twice in one message', [user, calling(call('a'), call('a')), answer('a')], /used twice/],
    ['an empty id', [user, calling(call('')), answer('')], /id is missing or empty/],
    ['arguments that are no JSON', [user, calling(call('a', '{"x"')), answer('a')], /not a JSON object/],
    ['arguments that are no object', [user, calling(call('a', '[1]')), answer('a')], /not a JSON object/],
    ['a name that providers refuse', [user, calling(call('a', '{}', 'mcp:x/y')), answer('a')], /name does not match/],
    ['an empty list of calls', [user, { role: 'assistant', content: 'x', tool_calls: [] }, user], /empty array/],
    ['an empty user message', [{ role: 'user', content: ' ' }], /content of a user message is empty/],
    ['an assistant message without anything', [user, { role: 'assistant', content: null }, user], /is missing/],
    ['an empty tool result', [user, calling(call('a')), answer('a', '')], /content of a tool message is empty/],
    ['calls of a user', [{ ...user, tool_calls: [call('a')] }, answer('a')], /tool_calls in a message of role 'user'/],
  ])('refuses %s', (_name, messages, violation) => {
    expect(validateConversation(messages).join('\n')).toMatch(violation);
  });
});

test('validateTools refuses names that providers refuse, doubles, and parameters that are no object', () => {
  const tool = (name: string, parameters = { type: 'object' }) => ({
    type: 'function',
    function: { name, parameters },
  });
  expect(validateTools([tool('a'), tool('b-2')])).toEqual([]);
  expect(validateTools(undefined)).toEqual([]);
  expect(validateTools([])).toHaveLength(1);
  expect(validateTools([tool('mcp:a/b')])[0]).toMatch(/does not match/);
  expect(validateTools([tool('a'), tool('a')])[0]).toMatch(/used twice/);
  expect(validateTools([tool('a', { type: 'string' })])[0]).toMatch(/parameters/);
});
