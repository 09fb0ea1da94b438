import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import type { Agent } from '@turnwire/shared/domain/agent';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { expect, test } from 'vitest';
import { callsToDecide } from './calls-to-decide.ts';

const tools = ['send', 'look', 'mcp:files/write'].map((name) => createScriptedTool(name, () => ''));

function agent(patterns: readonly string[]): Agent {
  const settings = agentSettingsSchema.parse({ approval: { tools: patterns } });
  return { ...settings, id: 'agent', tenantId: 'acme', revision: 1, createdAt: 0, updatedAt: 0 };
}

function call(name: string, patch: Partial<ToolCall> = {}): ToolCall {
  return {
    ...{ id: name, turnId: 'turn_1', step: 1, position: 0, name, arguments: {}, invalid: null, state: 'planned' },
    ...{ decision: null, result: null, idempotencyKey: name, startedAt: null, finishedAt: null },
    ...patch,
  };
}

test.each<[string, readonly string[], readonly ToolCall[], readonly string[]]>([
  ['none without patterns', [], [call('send'), call('look')], []],
  ['one by its name', ['send'], [call('send'), call('look')], ['send']],
  ['all', ['*'], [call('send'), call('look')], ['send', 'look']],
  ['a server’s', ['mcp:files/*'], [call('send'), call('mcp:files/write')], ['mcp:files/write']],
  ['also one that waits, after a partial decision', ['*'], [call('send', { state: 'waiting' })], ['send']],
  ['none that is decided', ['*'], [call('send', { decision: { action: 'approve' } })], []],
  ['none that runs', ['*'], [call('send', { state: 'started' })], []],
  ['none that cannot be read', ['*'], [call('send', { invalid: 'No JSON.' })], []],
  ['none whose tool is not there', ['*'], [call('fly')], []],
])('a person has to decide %s', (_, patterns, open, expected) => {
  expect(callsToDecide(agent(patterns), open, tools)).toEqual(expected);
});
