import { fileURLToPath } from 'node:url';
import type { McpServer } from '@turnwire/shared/domain/registration';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { afterEach, describe, expect, it } from 'vitest';
import { callContext } from '../fixtures/call-context.ts';
import { startServer } from '../fixtures/local-server.ts';
import { startMcpHttpServer } from '../fixtures/mcp-http-server.ts';
import { createRegistrations } from '../fixtures/registrations.ts';
import { createGuardedFetch } from '../guarded-fetch.ts';
import { isPublicAddress } from '../public-address.ts';
import { createMcpServers, type McpServersOptions } from './mcp-servers.ts';

const TENANT = 'acme';
const program = fileURLToPath(new URL('../fixtures/mcp-stdio-server.ts', import.meta.url));

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function setUp(options: Partial<McpServersOptions> & { permits?: (address: string) => boolean } = {}) {
  const store = createRegistrations<McpServer>();
  const log = createRecordingLogger();
  const guarded = createGuardedFetch({ permits: options.permits ?? (() => true) });
  const servers = createMcpServers({
    store,
    log,
    fetch: guarded.fetch,
    clock: realClock,
    toolsAllowStdio: true,
    ...options,
  });
  closers.push(guarded.close, servers.close);
  const find = () => servers.find(TENANT, 'all');
  const names = async () => (await find()).map(({ definition }) => definition.name);
  const call = async (name: string, args = {}, context = callContext()) => {
    const tool = (await find()).find(({ definition }) => definition.name === name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    return tool.run(args, context);
  };
  const put = (server: McpServer) => store.put(TENANT, server.name, server);
  return { store, log, servers, find, names, call, put };
}

function stdio(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): McpServer {
  return { name: 'files', transport: 'stdio', command: process.execPath, args: [program, ...args], env };
}

async function httpServer(port?: number) {
  const server = await startMcpHttpServer(port);
  closers.push(server.close);
  const registration: McpServer = {
    name: 'files',
    transport: 'http',
    url: server.url,
    headers: { authorization: 'Bearer k' },
  };
  return { server, registration };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A clock that a test moves on, for what happens after minutes, while real processes go on. */
function steppedClock(): Clock & { skip(ms: number): void } {
  const manual = createManualClock(Date.now());
  return { ...manual, sleep: realClock.sleep, skip: (ms) => void manual.advance(ms) };
}

describe.each([
  ['over stdio', async () => stdio()],
  ['over HTTP', async () => (await httpServer()).registration],
])('an MCP server %s', (_how, register) => {
  it('brings its tools', async () => {
    const { find, put } = setUp();
    await put(await register());
    const tools = await find();
    expect(tools.map(({ definition }) => definition.name)).toEqual(
      ['echo', 'fail', 'mixed', 'hang', 'env', 'pid', 'flood', 'crash', 'grow'].map((name) => `mcp:files/${name}`),
    );
    expect(tools[0]).toMatchObject({
      idempotent: true,
      timeoutMs: null,
      definition: {
        description: 'Echoes.',
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
    });
    expect(tools[1]).toMatchObject({
      idempotent: false,
      definition: { parameters: { type: 'object', properties: {} } },
    });
  });

  it('gives the same objects from step to step, over one connection', async () => {
    const { find, call, put } = setUp();
    await put(await register());
    const [first, second] = await Promise.all([find(), find()]);
    expect(second).toEqual(first);
    expect((await find())[0]).toBe(first[0]);
    expect(new Set(await Promise.all([call('mcp:files/pid'), call('mcp:files/pid')])).size).toBe(1);
  });

  it('answers texts, structured content, and notes of what is neither', async () => {
    const { call, put } = setUp();
    await put(await register());
    expect(await call('mcp:files/echo', { text: 'hi 你好' })).toBe('hi 你好 key_1');
    expect(await call('mcp:files/mixed')).toBe('A plot:\n[image, image/png, 3 bytes: not shown]\n{"points":[1,2]}');
  });

  it('turns errors into sentences', async () => {
    const { call, put } = setUp();
    await put(await register());
    const failing = expect.objectContaining({ name: 'ToolError', message: 'No such file.' });
    await expect(call('mcp:files/fail')).rejects.toThrow(failing);
    await expect(call('mcp:files/echo', { text: 1 })).rejects.toThrow(/text/);
  });

  it('sees a tool that came later in the next step', async () => {
    const { call, names, put } = setUp();
    await put(await register());
    await call('mcp:files/grow');
    await expect.poll(names, { timeout: 3_000 }).toContain('mcp:files/late');
    expect(await call('mcp:files/late')).toBe('late');
  });

  it('cancels a call on abort, and goes on', async () => {
    const { call, put } = setUp();
    await put(await register());
    const controller = new AbortController();
    const hanging = call('mcp:files/hang', {}, callContext(controller.signal));
    setTimeout(() => controller.abort(new Error('enough')), 300);
    await expect(hanging).rejects.toThrow('enough');
    expect(await call('mcp:files/echo', { text: 'on' })).toBe('on key_1');
  });

  it('starts nothing for a call that was aborted before', async () => {
    const { call, put } = setUp();
    await put(await register());
    await expect(
      call('mcp:files/echo', { text: 'x' }, callContext(AbortSignal.abort(new Error('no')))),
    ).rejects.toThrow('no');
  });

  it('goes when its registration goes, and its running calls may end', async () => {
    const { call, names, put, store } = setUp();
    await put(await register());
    const controller = new AbortController();
    const running = call('mcp:files/hang', {}, callContext(controller.signal));
    await names();
    await store.delete(TENANT, 'files');
    expect(await names()).toEqual([]);
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
  });

  it('is not shown to other tenants', async () => {
    const { servers, names, put } = setUp();
    await put(await register());
    expect(await names()).not.toEqual([]);
    expect(await servers.find('other', 'all')).toEqual([]);
    expect(await servers.find('other', new Set(['files']))).toEqual([]);
  });
});

describe('an MCP server that is a program', () => {
  it('is stopped when it answers beyond all bounds', async () => {
    const { call, put } = setUp();
    await put(stdio());
    const pid = Number(await call('mcp:files/pid'));
    await expect(call('mcp:files/flood')).rejects.toThrow('was lost');
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
    expect(await call('mcp:files/echo', { text: 'on' })).toBe('on key_1');
  });

  it('gets PATH, HOME and its own variables only', async () => {
    process.env.SECRET_OF_OURS = 'x';
    const { call, put } = setUp();
    await put(stdio([], { TOKEN: 't' }));
    const names = (await call('mcp:files/env')).split(' ').filter((name) => !name.startsWith('__')); // macOS adds one
    expect(names).toEqual(['HOME', 'PATH', 'TOKEN']);
    delete process.env.SECRET_OF_OURS;
  });

  it('is started again after it crashed, and says that the call may have taken effect', async () => {
    const { call, put } = setUp();
    await put(stdio());
    const first = await call('mcp:files/pid');
    await expect(call('mcp:files/crash')).rejects.toThrow(
      'The connection to the MCP server "files" was lost; whether the call took effect is not known.',
    );
    const second = await call('mcp:files/pid');
    expect(second).not.toBe(first);
    expect(isAlive(Number(first))).toBe(false);
  });

  it('is not started again at once when it crashes again and again', async () => {
    const clock = steppedClock();
    const { call, names, put, log } = setUp({ clock });
    await put(stdio());
    for (let crashes = 0; crashes < 2; crashes += 1) await call('mcp:files/crash').catch(() => {});
    expect(await names()).toEqual([]);
    clock.skip(2_000);
    await expect.poll(names, { timeout: 5_000 }).toContain('mcp:files/pid');
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('ends with us, and what it started too', async () => {
    const { call, put, servers } = setUp();
    const shell = `sleep 300 & exec "${process.execPath}" "${program}"`;
    await put({ name: 'files', transport: 'stdio', command: 'sh', args: ['-c', shell], env: {} });
    const pid = Number(await call('mcp:files/pid'));
    expect(isAlive(-pid)).toBe(true);
    await servers.close();
    await expect.poll(() => isAlive(-pid), { timeout: 3_000 }).toBe(false);
  });

  it('ends when nobody used it for ten minutes, and comes back when somebody does', async () => {
    const clock = steppedClock();
    const { call, put } = setUp({ clock });
    await put(stdio());
    const pid = Number(await call('mcp:files/pid'));
    clock.skip(590_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isAlive(pid)).toBe(true);
    clock.skip(120_000);
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
    expect(Number(await call('mcp:files/pid'))).not.toBe(pid);
  });

  it('is replaced when its registration changes', async () => {
    const { call, put } = setUp();
    await put(stdio());
    const pid = Number(await call('mcp:files/pid'));
    await put(stdio([], { CHANGED: '1' }));
    expect(await call('mcp:files/env')).toContain('CHANGED');
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
  });

  it('may print what is no message', async () => {
    const { call, put, log } = setUp();
    await put(stdio(['noisy']));
    expect(await call('mcp:files/echo', { text: 'a' })).toBe('a key_1');
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'debug', fields: expect.objectContaining({ stderr: 'test server started' }) }),
    );
  });

  it('that cannot be started has no tools, which is logged once', async () => {
    const clock = steppedClock();
    const { names, put, log } = setUp({ clock });
    await put({ name: 'files', transport: 'stdio', command: '/does/not/exist', args: ['--token=s3cret'], env: {} });
    expect(await names()).toEqual([]);
    clock.skip(1_500);
    await expect.poll(() => log.lines.filter(({ level }) => level === 'debug').length).toBeGreaterThan(0);
    expect(await names()).toEqual([]);
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(JSON.stringify(log.lines)).not.toContain('s3cret');
  });

  it('is not started where that is turned off', async () => {
    const { names, put, log } = setUp({ toolsAllowStdio: false });
    await put(stdio());
    expect(await names()).toEqual([]);
    expect(log.lines[0]?.fields.reason).toBe('Starting MCP servers as programs is turned off.');
  });

  it('that never answers holds a step up for 5 seconds once, and is stopped after 10', async () => {
    const clock = createManualClock(0);
    const { find, put, log } = setUp({ clock });
    await put(stdio(['silent']));
    let found: readonly Tool[] | null = null;
    void find().then((tools) => {
      found = tools;
    });
    await expect.poll(() => log.lines.some(({ fields }) => fields.stderr !== undefined), { timeout: 5_000 }).toBe(true);
    await clock.advance(4_900);
    expect(found).toBeNull();
    await clock.advance(200);
    expect(found).toEqual([]);
    expect(await find()).toEqual([]); // not held up again
    await clock.advance(5_000);
    await clock.advance(3_000); // the time that it gets to end
    await expect
      .poll(() => log.lines.find(({ level }) => level === 'warn')?.fields.reason)
      .toBe('The server did not answer within 10 seconds.');
    const closing = setInterval(() => void clock.advance(1_000), 50);
    closers.push(async () => clearInterval(closing));
  });
});

describe('an MCP server over HTTP', () => {
  it('gets the configured headers', async () => {
    const { server, registration } = await httpServer();
    const { names, put } = setUp();
    await put(registration);
    await names();
    expect(server.headers.get('authorization')).toBe('Bearer k');
  });

  it('hears of a cancelled call', async () => {
    const { server, registration } = await httpServer();
    const { call, put } = setUp();
    await put(registration);
    const controller = new AbortController();
    const hanging = call('mcp:files/hang', {}, callContext(controller.signal));
    await expect.poll(() => server.calls, { timeout: 3_000 }).toEqual(['hang']);
    controller.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    await expect.poll(() => server.cancelled, { timeout: 3_000 }).toEqual(['hang']);
  });

  it('is told when we leave', async () => {
    const { server, registration } = await httpServer();
    const { servers, names, put } = setUp();
    await put(registration);
    await names();
    expect(server.sessions.size).toBe(1);
    await servers.close();
    expect(server.sessions.size).toBe(0);
  });

  it('may forget us: the call is made on a new session, once', async () => {
    const { server, registration } = await httpServer();
    const { find, put } = setUp();
    await put(registration);
    const [echo] = await find();
    server.forget();
    expect(await echo?.run({ text: 'again' }, callContext())).toBe('again key_1');
    expect(server.calls).toEqual(['again']);
  });

  it('may be restarted', async () => {
    const { server, registration } = await httpServer();
    const { call, names, put } = setUp();
    await put(registration);
    await names();
    await server.close();
    const { server: restarted } = await httpServer(server.port);
    await expect.poll(() => restarted.sessions.size, { timeout: 5_000 }).toBe(1);
    expect(await call('mcp:files/echo', { text: 'again' })).toBe('again key_1');
  });

  it('that goes down ends the calls that wait for it, then has no tools until it is back', async () => {
    const { server, registration } = await httpServer();
    const { call, names, put } = setUp();
    await put(registration);
    const hanging = call('mcp:files/hang');
    await expect.poll(() => server.calls, { timeout: 3_000 }).toEqual(['hang']);
    const lost = expect(hanging).rejects.toThrow('was lost; whether the call took effect is not known');
    await server.close();
    await lost;
    expect(await names()).toEqual([]);
    await httpServer(server.port);
    await expect.poll(names, { timeout: 8_000 }).toContain('mcp:files/echo');
  });

  it('is not reached on a private address, unless that is allowed', async () => {
    const { server, registration } = await httpServer();
    const { names, put, log } = setUp({ permits: isPublicAddress });
    await put(registration);
    expect(await names()).toEqual([]);
    expect(server.sockets.size).toBe(0);
    expect(log.lines.find(({ level }) => level === 'warn')?.fields.reason).toContain('private or reserved network');
  });

  it('that answers an error has no tools', async () => {
    const server = await startServer((_request, response) => response.writeHead(500).end('oops'));
    closers.push(server.close);
    const { names, put } = setUp();
    await put({ name: 'files', transport: 'http', url: server.url, headers: {} });
    expect(await names()).toEqual([]);
  });
});
