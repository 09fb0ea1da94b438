import type { AgentSettings } from '@turnwire/shared/domain/agent';
import type { HttpTool, McpServer } from '@turnwire/shared/domain/registration';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { StoreFixture } from './fixture.ts';

const settings: AgentSettings = {
  name: 'Support',
  systemPrompt: 'You help {{user_id}}.',
  model: {
    name: null,
    baseUrl: null,
    apiKeyEnv: null,
    temperature: 0.2,
    maxOutputTokens: null,
    toolCalls: 'native',
    reasoning: 'strip',
  },
  tools: ['get_weather', 'mcp:files/*'],
  mode: 'conversation',
  maxSteps: 20,
  toolTimeoutMs: 5000,
  turnTimeoutMs: 600_000,
  approval: { tools: ['send_email'], ttlSeconds: 86_400, onExpire: 'reject' },
  errors: { signature: 'simple', max: 3 },
  memory: { recall: true, extract: true, topK: 8 },
};

const tool: HttpTool = {
  name: 'search',
  description: 'Searches.',
  parameters: { type: 'object', properties: { q: { type: 'string' } } },
  url: 'https://tools.example/search',
  method: 'POST',
  headers: { 'X-Key': 'secret' },
  timeoutMs: null,
  idempotent: true,
};

const server: McpServer = { name: 'files', transport: 'stdio', command: 'files', args: ['--ro'], env: { A: 'b' } };

export function configCases(make: MakeStore): void {
  describe('agents', () => {
    const given = new StoreFixture(make);

    test('get a revision with every change, and none without one', async () => {
      const first = await given.store.agents.put('acme', 'support', settings);
      expect(first).toMatchObject({
        created: true,
        value: { ...settings, id: 'support', tenantId: 'acme', revision: 1 },
      });
      await given.advance(5);
      const { model, ...rest } = settings;
      const same = await given.store.agents.put('acme', 'support', { model: { ...model }, ...rest });
      expect(same).toEqual({ created: false, value: first.value });
      const changed = await given.store.agents.put('acme', 'support', { ...settings, maxSteps: 21 });
      expect(changed).toMatchObject({ created: false, value: { revision: 2, maxSteps: 21 } });
      expect(changed.value.createdAt).toBe(first.value.createdAt);
      expect(changed.value.updatedAt).toBeGreaterThan(first.value.updatedAt);
      expect(await given.store.agents.get('acme', 'support')).toEqual(changed.value);
      expect(await given.store.agents.getRevision('acme', 'support', 1)).toEqual(first.value);
      expect(await given.store.agents.getRevision('acme', 'support', 2)).toEqual(changed.value);
      expect(await given.store.agents.getRevision('acme', 'support', 3)).toBeNull();
    });

    test('are gone when deleted, with all revisions; put again, their revisions go on growing', async () => {
      await given.store.agents.put('acme', 'support', settings);
      await given.store.agents.put('acme', 'support', { ...settings, maxSteps: 21 });
      expect(await given.store.agents.delete('acme', 'support')).toBe(true);
      expect(await given.store.agents.delete('acme', 'support')).toBe(false);
      expect(await given.store.agents.delete('acme', 'none')).toBe(false);
      expect(await given.store.agents.get('acme', 'support')).toBeNull();
      expect(await given.store.agents.getRevision('acme', 'support', 2)).toBeNull();
      expect((await given.store.agents.list('acme', { limit: 10, cursor: null })).items).toEqual([]);
      const again = await given.store.agents.put('acme', 'support', settings);
      expect(again).toMatchObject({ created: true, value: { revision: 3 } });
      expect(await given.store.agents.getRevision('acme', 'support', 2)).toBeNull();
      expect(await given.store.agents.getRevision('acme', 'support', 3)).toEqual(again.value);
    });

    test('put 10 times at once get one revision each', async () => {
      const puts = await Promise.all(
        Array.from({ length: 10 }, (_, i) => given.store.agents.put('acme', 'a', { ...settings, maxSteps: i + 1 })),
      );
      const revisions = puts.map(({ value }) => value.revision).sort((a, b) => a - b);
      expect(revisions).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
      expect(puts.filter(({ created }) => created)).toHaveLength(1);
    });

    test('are listed by id in pages', async () => {
      for (const id of ['c', 'a', 'e', 'b', 'd']) await given.store.agents.put('acme', id, settings);
      await given.store.agents.delete('acme', 'c');
      const first = await given.store.agents.list('acme', { limit: 3, cursor: null });
      expect(first.items.map(({ id }) => id)).toEqual(['a', 'b', 'd']);
      const second = await given.store.agents.list('acme', { limit: 3, cursor: first.nextCursor });
      expect(second).toMatchObject({ items: [{ id: 'e' }], nextCursor: null });
    });
  });

  describe('registrations', () => {
    const given = new StoreFixture(make);

    test('are put, read, replaced, listed and deleted, tools and MCP servers apart', async () => {
      const { tools, mcpServers } = given.store;
      const first = await tools.put('acme', 'search', tool);
      expect(first).toMatchObject({ created: true, value: { value: tool, tenantId: 'acme', revision: 1 } });
      expect(await tools.put('acme', 'search', { ...tool })).toEqual({ created: false, value: first.value });
      const changed = await tools.put('acme', 'search', { ...tool, timeoutMs: 10 });
      expect(changed).toMatchObject({ created: false, value: { value: { timeoutMs: 10 }, revision: 2 } });
      expect(await tools.get('acme', 'search')).toEqual(changed.value);
      expect(await mcpServers.get('acme', 'search')).toBeNull();
      await mcpServers.put('acme', 'search', server);
      expect((await mcpServers.get('acme', 'search'))?.value).toEqual(server);
      expect(await tools.delete('acme', 'search')).toBe(true);
      expect(await tools.delete('acme', 'search')).toBe(false);
      expect(await tools.get('acme', 'search')).toBeNull();
      expect((await mcpServers.get('acme', 'search'))?.value).toEqual(server);
      expect(await tools.put('acme', 'search', tool)).toMatchObject({ created: true, value: { revision: 3 } });
    });

    test('are listed by name in pages', async () => {
      for (const name of ['b', 'c', 'a']) await given.store.tools.put('acme', name, { ...tool, name });
      const first = await given.store.tools.list('acme', { limit: 2, cursor: null });
      const second = await given.store.tools.list('acme', { limit: 2, cursor: first.nextCursor });
      expect([...first.items, ...second.items].map(({ value }) => value.name)).toEqual(['a', 'b', 'c']);
      expect(second.nextCursor).toBeNull();
    });
  });
}
