import { agentSettingsSchema } from '@turnwire/shared/contracts/agent';
import type { Agent } from '@turnwire/shared/domain/agent';
import { describe, expect, test } from 'vitest';
import { leadingMessage } from './leading-message.ts';

function agent(settings: object): Agent {
  const identity = { id: 'agent', tenantId: 'acme', revision: 1, createdAt: 0, updatedAt: 0 };
  return { ...agentSettingsSchema.parse(settings), ...identity };
}

const checkpoint = { version: 1, systemPrompt: 'You are kind.', memoryIds: [], reminders: [] } as const;

describe('the leading message', () => {
  test('is empty where there is nothing to say', () => {
    expect(leadingMessage(agent({}), null, 1)).toBe('');
  });

  test('has the fixed rules first, so that providers can cache it, and what changes last', () => {
    const withTools = agent({ tools: ['look'], maxSteps: 5 });
    const first = leadingMessage(withTools, checkpoint, 1);
    expect(first).toMatch(/^You can call tools\..*You are kind\.$/s);
    expect(leadingMessage(withTools, checkpoint, 2)).toBe(first);
    expect(leadingMessage(withTools, checkpoint, 3)).toBe(`${first}\n\nSteps left after this one: 2.`);
    expect(leadingMessage(withTools, checkpoint, 5)).toBe(
      `${first}\n\nThis is the last step: answer now, without calling tools.`,
    );
  });

  test('has no rules for tools that the agent has not', () => {
    expect(leadingMessage(agent({}), checkpoint, 1)).toBe('You are kind.');
  });
});
