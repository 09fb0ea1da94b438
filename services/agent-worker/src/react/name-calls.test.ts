import type { Message } from '@turnwire/shared/domain/message';
import type { Turn } from '@turnwire/shared/domain/turn';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { describe, expect, test } from 'vitest';
import type { AssembledCall } from './assemble-calls.ts';
import { nameCalls } from './name-calls.ts';

const tools = ['look', 'mcp:files/read'].map((name) => createScriptedTool(name, () => ''));

function asked(id: string | null, name = 'look'): AssembledCall {
  return { id, name, arguments: {}, invalid: null };
}

/** A state in which calls with these ids were made before. */
function after(...ids: readonly string[]) {
  const toolCalls = ids.map((id) => ({ id, name: 'look', arguments: {} }));
  return { turn: { id: 'turn_1' } as Turn, messages: [{ seq: 1, toolCalls } as unknown as Message] };
}

describe('the model’s calls', () => {
  test('have the names that tools have here', () => {
    const named = nameCalls([asked('a', 'mcp__files__read'), asked('b', 'fly')], tools, after(), 1);
    expect(named.map(({ name }) => name)).toEqual(['mcp:files/read', 'fly']);
  });

  test.each<[string, readonly (string | null)[], readonly string[], readonly string[]]>([
    ['keep the provider’s ids', ['a', 'b'], [], ['a', 'b']],
    ['get an id where there is none', [null, 'b'], [], ['call_turn_1-2-0', 'b']],
    ['get an id where one was used before', ['a', 'b'], ['a'], ['call_turn_1-2-0', 'b']],
    ['get an id where one is given twice', ['a', 'a', null], [], ['a', 'call_turn_1-2-1', 'call_turn_1-2-2']],
  ])('%s', (_, ids, before, expected) => {
    const calls = ids.map((id) => asked(id));
    expect(nameCalls(calls, tools, after(...before), 2).map(({ id }) => id)).toEqual(expected);
    // The same after a crash.
    expect(nameCalls(calls, tools, after(...before), 2)).toEqual(nameCalls(calls, tools, after(...before), 2));
  });

  test('get ids of ours where the beginning of a long session is not at hand: who knows what was used there', () => {
    const { turn } = after();
    const state = { turn, messages: [{ seq: 401 } as Message] };
    expect(nameCalls([asked('a'), asked('b')], tools, state, 2).map(({ id }) => id)).toEqual([
      'call_turn_1-2-0',
      'call_turn_1-2-1',
    ]);
  });
});
