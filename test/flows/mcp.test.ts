import { messageText } from '@turnwire/demo-model/chat-request';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsThen } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { type McpServer, startMcpServer } from '../stack/mcp-server.ts';
import { profiles } from '../stack/profiles.ts';

describe.each(profiles())("$name: an MCP server's tools", (profile) => {
  const stack = useStack(profile);
  let server: McpServer;
  beforeAll(async () => {
    server = await startMcpServer();
    const headers = { authorization: 'Bearer mcp-secret-0123456789' };
    const put = await stack.api.call('PUT', '/v1/mcp-servers/files', { url: server.url, headers });
    expect([put.status, put.body.headers]).toEqual([201, { authorization: '***' }]);
  });
  afterAll(() => server.close());

  test('are offered, approved, called and answered under their names', async () => {
    const calls = [
      { id: 'e', name: 'mcp__files__echo', arguments: { text: 'hello' } },
      { id: 'f', name: 'mcp__files__fail' },
    ];
    const settings = { tools: ['mcp:files/*'], approval: { tools: ['mcp:files/echo'] } };
    const scene = await stack.scene(callsThen(calls, 'Done.'), settings);
    const stream = await scene.ask('Go.');
    const { data } = await stream.until('interrupt');
    expect(data.toolCalls).toEqual([{ id: 'e', name: 'mcp:files/echo', arguments: { text: 'hello' } }]);
    expect(server.calls).toEqual([]);
    const resumed = await stack.turnwire.stream(`/v1/sessions/${scene.sessionId}/resume`, { method: 'POST' });
    await resumed.over();
    expect(resumed.of('tool.result').map((event) => [event.data.name, event.data.ok])).toEqual(
      expect.arrayContaining([
        ['mcp:files/echo', true],
        ['mcp:files/fail', false],
      ]),
    );
    expect(server.calls.toSorted()).toEqual(['echo', 'fail']);
    expect(server.headers.authorization).toBe('Bearer mcp-secret-0123456789');
    const results = scene.requests[1]?.body.messages.filter(({ role }) => role === 'tool').map(messageText);
    expect(results?.[0]).toBe('You said: hello');
    expect(results?.[1]).toContain('No such file.');
    expect(stack.turnwire.logs.join('\n')).not.toContain('mcp-secret');
  });

  test('are stopped by a cancel', async () => {
    const scene = await stack.scene(callsThen([{ name: 'mcp__files__hang' }], 'Never.'), { tools: ['mcp:files/hang'] });
    const stream = await scene.say('Go.');
    await eventually(() => expect(server.calls).toContain('hang'));
    await stack.api.cancelSession(scene.sessionId);
    expect((await stream.over()).types.at(-1)).toBe('cancelled');
    await eventually(() => expect(server.givenUp()).toBeGreaterThan(0), 1000);
  });

  test('are gone with the registration, and a server that is away disturbs no turn', async () => {
    const { status } = await stack.api.call('PUT', '/v1/mcp-servers/away', { url: 'http://127.0.0.1:1/mcp' });
    expect(status).toBe(201);
    const settings = { tools: ['mcp:away/*', 'mcp:files/echo'] };
    const calls = [{ name: 'mcp__files__echo', arguments: { text: 'still here' } }];
    const scene = await stack.scene(callsThen(calls, 'Done.'), settings);
    expect((await (await scene.say('Go.')).over(15_000)).text).toBe('Done.');
    expect(server.calls.at(-1)).toBe('echo');
    expect((await stack.api.call('DELETE', '/v1/mcp-servers/files')).status).toBe(204);
    const after = await (await scene.say('Again.')).over(15_000);
    expect(after.of('tool.result')[0]?.data).toMatchObject({ ok: false });
    expect(scene.requests.at(-1)?.body.tools).toBeUndefined();
  });
});
