import { messageText } from '@turnwire/demo-model/chat-request';
import { playStep } from '@turnwire/demo-model/script';
import { beforeAll, describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import type { Client } from '../stack/client.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const ACME = 'acme-admin-0123456789';
const ACME_USER = 'acme-user-0123456789';
const OTHER = 'other-admin-0123456789';
const API_KEYS = `${ACME}:acme:admin,${ACME_USER}:acme,${OTHER}:other:admin`;

describe.each(profiles())('$name: tenants', (profile) => {
  const stack = useStack(profile, {
    apiKey: ACME,
    env: { API_KEYS, TOOLS_ALLOW_PRIVATE: 'true', METRICS_KEY: 'metrics-key' },
  });
  let other: Client;
  beforeAll(() => {
    other = stack.turnwire.as(OTHER);
  });

  test('see nothing of each other: every route answers 404, whatever is asked, and changes nothing', async () => {
    const tool = await stack.tool(() => 'sent');
    const settings = { tools: [tool], approval: { tools: [tool] } };
    const waiting = await stack.scene(callsThen([{ id: 'c', name: tool }], 'Sent.'), settings);
    const interrupt = await (await waiting.ask('Send.')).until('interrupt');
    const running = await stack.scene(playStep(pieces(400, 10)));
    const stream = await running.say('Count.');
    await stream.until('turn.delta');
    const memory = await stack.api.addMemory({ userId: 'ada', text: 'Ada likes tea.' });
    await stack.api.call('PUT', '/v1/mcp-servers/files', { url: 'http://127.0.0.1:9/mcp' });
    const calls: [string, string, unknown?][] = [
      ['GET', `/v1/agents/${waiting.agentId}`],
      ['DELETE', `/v1/agents/${waiting.agentId}`],
      ['GET', `/v1/tools/${tool}`],
      ['DELETE', `/v1/tools/${tool}`],
      ['GET', '/v1/mcp-servers/files'],
      ['DELETE', '/v1/mcp-servers/files'],
      ['POST', '/v1/sessions', { agentId: waiting.agentId, userId: 'ada' }],
      ...[waiting, running].flatMap(({ sessionId }): [string, string, unknown?][] => [
        ['GET', `/v1/sessions/${sessionId}`],
        ['GET', `/v1/sessions/${sessionId}/messages`],
        ['GET', `/v1/sessions/${sessionId}/events`],
        ['GET', `/v1/sessions/${sessionId}/events?after=0`],
        ['POST', `/v1/sessions/${sessionId}/turns`, { text: 'x', onBusy: 'interrupt' }],
        ['POST', `/v1/sessions/${sessionId}/resume`],
        ['POST', `/v1/sessions/${sessionId}/cancel`],
        ['DELETE', `/v1/sessions/${sessionId}`],
      ]),
      ['GET', `/v1/turns/${interrupt.data.turnId}`],
      ['POST', `/v1/turns/${interrupt.data.turnId}/cancel`],
      ['PATCH', `/v1/memories/${memory.id}`, { text: 'Ada likes coffee.' }],
      ['DELETE', `/v1/memories/${memory.id}`],
    ];
    for (const [method, path, body] of calls) {
      for (const accept of ['application/json', 'text/event-stream']) {
        const answer = await other.api.call(method, path, body, { accept });
        expect(`${method} ${path} ${answer.status} ${answer.body.code}`).toBe(`${method} ${path} 404 not_found`);
        expect(JSON.stringify(answer.body)).not.toMatch(/acme|Ada likes/);
      }
    }
    expect((await other.api.call('DELETE', '/v1/memories?userId=ada')).status).toBe(204);
    for (const list of [
      'agents',
      'tools',
      'mcp-servers',
      'sessions',
      'memories?userId=ada',
      'memories?userId=ada&query=tea',
    ]) {
      expect((await other.api.call('GET', `/v1/${list}`)).body.items).toEqual([]);
    }
    expect((await stack.api.session(waiting.sessionId)).state).toBe('WAITING');
    expect((await stack.api.memories('ada')).map(({ text }) => text)).toEqual(['Ada likes tea.']);
    expect(stream.end).toBe('open');
    await stack.api.cancelSession(running.sessionId);
    await stream.over();
    await stack.api.resume(waiting.sessionId);
    expect((await stack.api.ended(interrupt.data.turnId)).status).toBe('COMPLETED');
    await stack.api.deleteMemory(memory.id);
  });

  test('have names of their own: the same agent, tool, user and key twice', async () => {
    for (const [client, word] of [
      [stack.turnwire, 'acme'],
      [other, 'other'],
    ] as const) {
      stack.model.setHandler(`model-${word}`, callsThen([{ name: 'same' }], `Hello from ${word}.`));
      const { url } = stack.tools.define(() => `tool of ${word}`);
      await client.api.putTool('same', { url });
      await client.api.putAgent('same', {
        systemPrompt: 'Tenant {{tenant_id}}',
        model: { name: `model-${word}` },
        tools: ['same'],
        memory: { extract: false },
      });
      await client.api.addMemory({ userId: 'same', text: `Belongs to ${word}.` });
    }
    const key = { 'idempotency-key': 'same key' };
    const input = { agentId: 'same', userId: 'same' };
    const [one, two] = await Promise.all([stack.turnwire, other].map(({ api }) => api.createSession(input, key)));
    expect(one?.id).not.toBe(two?.id);
    expect([one?.tenantId, two?.tenantId]).toEqual(['acme', 'other']);
    const texts = [];
    for (const [client, session] of [
      [stack.turnwire, one],
      [other, two],
    ] as const) {
      const stream = await client.streamTurn(session?.id ?? '', { text: 'Hi' }, { 'idempotency-key': 'same turn' });
      await stream.over();
      texts.push(stream.text);
    }
    expect(texts).toEqual(['Hello from acme.', 'Hello from other.']);
    for (const word of ['acme', 'other']) {
      const requests = stack.model.requests.filter(({ model }) => model === `model-${word}`);
      const system = messageText(requests[0]?.body.messages[0] ?? { role: 'system' });
      expect(system).toContain(`Tenant ${word}`);
      expect(system).toContain(`Belongs to ${word}.`);
      expect(system.match(/Belongs to/g)).toHaveLength(1);
      expect(messageText(requests[1]?.body.messages.at(-1) ?? { role: 'tool' })).toBe(`"tool of ${word}"`);
    }
    const tenants = stack.tools.runs.slice(-2).map(({ headers }) => headers['x-tenant-id']);
    expect(tenants).toEqual(['acme', 'other']);
  });

  test('share their sessions over roles: a user works, an admin configures', async () => {
    const scene = await stack.scene(playStep('Hello.'));
    const user = stack.turnwire.as(ACME_USER);
    const stream = await user.streamTurn(scene.sessionId, { text: 'Hi' });
    expect((await stream.over()).text).toBe('Hello.');
    stack.turnwire.accepted.turns.set(stream.events[0]?.data.turnId, scene.sessionId);
    for (const [method, path, body] of [
      ['PUT', '/v1/agents/new', {}],
      ['DELETE', `/v1/agents/${scene.agentId}`],
      ['PUT', '/v1/tools/new', { url: 'http://127.0.0.1:9' }],
      ['GET', '/v1/tools'],
      ['GET', '/v1/mcp-servers'],
      ['GET', '/admin/queues'],
    ] as const) {
      const answer = await user.api.call(method, path, body);
      expect(`${method} ${path} ${answer.status} ${answer.body.code}`).toBe(`${method} ${path} 403 forbidden`);
    }
    expect((await user.api.call('GET', `/v1/agents/${scene.agentId}`)).status).toBe(200);
  });

  test('are nobody without a key', async () => {
    const stranger = stack.turnwire.as('wrong-key-0123456789');
    for (const path of ['/v1/sessions', '/v1/agents', '/v1/turns/turn_1', '/admin/queues', '/metrics']) {
      expect(`${path} ${(await stranger.api.call('GET', path)).status}`).toBe(`${path} 401`);
    }
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
      expect(`${path} ${(await stranger.api.call('GET', path)).status}`).toBe(`${path} 200`);
    }
    await eventually(() => expect(stack.turnwire.logs.length).toBeGreaterThan(3));
    expect(stack.turnwire.logs.join('\n')).not.toMatch(/0123456789/);
  });
});
