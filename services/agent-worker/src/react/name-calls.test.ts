import { createSystemIds } from '@turnwire/shared/adapters/system/ids';
import type { Message } from '@turnwire/shared/domain/message';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { describe, expect, test } from 'vitest';
import type { AssembledCall } from './assemble-calls.ts';
import { nameCalls } from './name-calls.ts';

const ids = createSystemIds(realClock);
const tools = ['look', 'mcp:files/read'].map((name) => createScriptedTool(name, () => ''));

function asked(id: string | null, name = 'look'): AssembledCall {
  return { id, name, arguments: {}, invalid: null };
}

/** A state in which calls with these ids were made before. */
function after(...ids: readonly string[]) {
  const toolCalls = ids.map((id) => ({ id, name: 'look', arguments: {} }));
  return { messages: [{ seq: 1, toolCalls } as unknown as Message] };
}

describe('the model’s calls', () => {
  test('have the names that tools have here', () => {
    const named = nameCalls([asked('a', 'mcp__files__read'), asked('b', 'fly')], tools, after(), ids);
    expect(named.map(({ name }) => name)).toEqual(['mcp:files/read', 'fly']);
  });

  test.each<[string, readonly (string | null)[], readonly string[], readonly string[]]>([
    ['keep the provider’s ids', ['a', 'b'], [], ['a', 'b']],
    ['get an id where there is none', [null, 'b'], [], ['ours', 'b']],
    ['get an id where one was used before', ['a', 'b'], ['a'], ['ours', 'b']],
    ['get an id where one is given twice', ['a', 'a', null], [], ['a', 'ours', 'ours']],
  ])('%s', (_, given, before, expected) => {
    const calls = given.map((id) => asked(id));
    const named = nameCalls(calls, tools, after(...before), ids).map(({ id }) => id);
    expect(named.map((id) => (id.startsWith('call_') ? 'ours' : id))).toEqual(expected);
    expect(new Set(named).size).toBe(named.length);
    // OpenAI refuses a conversation with a longer one.
    for (const id of named) expect(id.length).toBeLessThanOrEqual(40);
  });

  test('get ids of ours where the beginning of a long session is not at hand: who knows what was used there', () => {
    const state = { messages: [{ seq: 401 } as Message] };
    for (const { id } of nameCalls([asked('a'), asked('b')], tools, state, ids)) expect(id).toMatch(/^call_/);
  });
});
