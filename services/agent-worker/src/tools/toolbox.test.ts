import type { HttpTool, McpServer } from '@turnwire/shared/domain/registration';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { afterEach, describe, expect, it } from 'vitest';
import { callContext } from './fixtures/call-context.ts';
import { startServer } from './fixtures/local-server.ts';
import { startMcpHttpServer } from './fixtures/mcp-http-server.ts';
import { createRegistrations } from './fixtures/registrations.ts';
import { createToolbox, type ToolboxOptions } from './toolbox.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function setUp(options: Partial<ToolboxOptions> = {}) {
  const store = { tools: createRegistrations<HttpTool>(), mcpServers: createRegistrations<McpServer>() };
  const toolbox = createToolbox({
    store,
    clock: realClock,
    log: createRecordingLogger(),
    options: { toolsAllowPrivate: true, recordedWeather: true, toolsAllowStdio: true, ...options },
  });
  closers.push(toolbox.close);
  const names = async (...patterns: string[]) =>
    (await toolbox.tools('acme', patterns)).map(({ definition }) => definition.name);
  const run = async (name: string, args = {}) => {
    const [tool] = await toolbox.tools('acme', [name]);
    return tool?.run(args, callContext());
  };
  return { ...store, toolbox, names, run };
}

function httpTool(name: string, url = 'http://127.0.0.1:1025/'): HttpTool {
  const parameters = { type: 'object', properties: {} };
  return { name, description: '', parameters, url, method: 'POST', headers: {}, timeoutMs: 7, idempotent: true };
}

describe('createToolbox', () => {
  it('has its own tools for whoever asks', async () => {
    const { names } = setUp();
    expect(await names('*')).toEqual(['calculator', 'current_time', 'fetch_url', 'get_weather']);
    expect(await names('get_weather', 'calculator', 'unknown')).toEqual(['calculator', 'get_weather']);
    expect(await names()).toEqual([]);
  });

  it('runs them', async () => {
    const { run } = setUp();
    expect(await run('calculator', { expression: '0.1 + 0.2' })).toBe('0.3');
    expect(await run('current_time', { timeZone: 'Asia/Tokyo' })).toContain('+09:00');
  });

  it('finds what a tenant registered by name, by wildcard, over pages, from step to step', async () => {
    const { names, tools, toolbox } = setUp();
    for (const name of ['e', 'd', 'order_c', 'order_b', 'order_a']) await tools.put('acme', name, httpTool(name));
    await tools.put('other', 'order_x', httpTool('order_x'));
    expect(await names('order_*')).toEqual(['order_a', 'order_b', 'order_c']);
    expect(await names('e', 'order_x')).toEqual(['e']);
    await tools.delete('acme', 'e');
    expect(await names('e')).toEqual([]);
    expect(await toolbox.tools('other', ['*'])).toHaveLength(5);
  });

  it('keeps a tool while its registration stays, and takes the new one after a change', async () => {
    const { toolbox, tools } = setUp();
    await tools.put('acme', 'a', httpTool('a'));
    const [first] = await toolbox.tools('acme', ['a']);
    expect(first).toMatchObject({ idempotent: true, timeoutMs: 7 });
    expect((await toolbox.tools('acme', ['a']))[0]).toBe(first);
    await tools.put('acme', 'a', { ...httpTool('a'), description: 'new' });
    expect((await toolbox.tools('acme', ['a']))[0]?.definition.description).toBe('new');
    await tools.delete('acme', 'a');
    await tools.put('acme', 'a', { ...httpTool('a'), description: 'again' });
    expect((await toolbox.tools('acme', ['a']))[0]?.definition.description).toBe('again');
  });

  it('brings tools of MCP servers as far as the patterns go', async () => {
    const server = await startMcpHttpServer();
    closers.push(server.close);
    const { names, mcpServers } = setUp();
    await mcpServers.put('acme', 'files', { name: 'files', transport: 'http', url: server.url, headers: {} });
    expect(await names('mcp:files/e*', 'mcp:none/*')).toEqual(['mcp:files/echo', 'mcp:files/env']);
    expect(await names('mcp:files/echo', 'calculator')).toEqual(['calculator', 'mcp:files/echo']);
    expect(await names('calculator')).toEqual(['calculator']);
    expect((await names('*')).length).toBeGreaterThan(8);
  });

  it('reaches private addresses only where that is allowed', async () => {
    const server = await startServer((_request, response) => response.end('"inside"'));
    closers.push(server.close);
    const allowed = setUp();
    await allowed.tools.put('acme', 'a', httpTool('a', server.url));
    expect(await allowed.run('a')).toBe('"inside"');
    const guarded = setUp({ toolsAllowPrivate: false });
    await guarded.tools.put('acme', 'a', httpTool('a', server.url));
    await expect(guarded.run('a')).rejects.toThrow('private or reserved network');
    await expect(guarded.run('fetch_url', { url: server.url })).rejects.toThrow('private or reserved network');
  });
});
