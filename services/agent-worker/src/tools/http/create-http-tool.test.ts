import type { IncomingMessage, RequestListener } from 'node:http';
import type { JsonObject } from '@turnwire/shared/domain/json';
import type { HttpTool } from '@turnwire/shared/domain/registration';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { callContext } from '../fixtures/call-context.ts';
import { type LocalServer, startServer } from '../fixtures/local-server.ts';
import { createGuardedFetch } from '../guarded-fetch.ts';
import { createHttpTool } from './create-http-tool.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

describe('createHttpTool', () => {
  const guarded = createGuardedFetch({ permits: () => true });
  let server: LocalServer | null = null;
  afterEach(() => server?.close());
  afterAll(() => guarded.close());

  const seen: Seen[] = [];
  const recordThen =
    (listener: RequestListener): RequestListener =>
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      listener(request, response);
    };
  async function call(
    listener: RequestListener,
    {
      args = {},
      context = callContext(),
      ...changes
    }: Partial<HttpTool> & { args?: JsonObject; context?: ReturnType<typeof callContext> } = {},
  ): Promise<string> {
    seen.length = 0;
    await server?.close();
    server = await startServer(recordThen(listener));
    const tool: HttpTool = {
      name: 'orders',
      description: 'Orders.',
      parameters: { type: 'object' },
      url: `${server.url}/orders?v=1`,
      method: 'POST',
      headers: {},
      timeoutMs: null,
      idempotent: false,
      ...changes,
    };
    return createHttpTool(tool, guarded.fetch).run(args, context);
  }
  const answer =
    (status: number, body = '', type = 'application/json'): RequestListener =>
    (_request, response) =>
      response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body);

  it('sends the arguments as JSON, and whom and what the call is for', async () => {
    await call(answer(200), { args: { id: 7, note: '你好' }, headers: { Authorization: 'Bearer s3cret' } });
    expect(seen).toEqual([
      {
        method: 'POST',
        url: '/orders?v=1',
        body: '{"id":7,"note":"你好"}',
        headers: expect.objectContaining({
          'content-type': 'application/json',
          authorization: 'Bearer s3cret',
          'idempotency-key': 'key_1',
          'x-tenant-id': 'acme',
          'x-user-id': 'ann',
          'x-session-id': 'ses_1',
          'x-turn-id': 'turn_1',
        }),
      },
    ]);
  });

  it.each(['GET', 'DELETE'] as const)('sends them as query parameters with %s', async (method) => {
    await call(answer(200), { method, args: { q: 'a&b=c', n: 2, on: true, ids: [1, 'x'], at: { z: 1 }, none: null } });
    expect(seen[0]).toMatchObject({ method, body: '' });
    const query = new URL(seen[0]?.url ?? '', 'http://x').searchParams;
    expect([...query]).toEqual([
      ['v', '1'],
      ['q', 'a&b=c'],
      ['n', '2'],
      ['on', 'true'],
      ['ids', '1'],
      ['ids', 'x'],
      ['at', '{"z":1}'],
    ]);
  });

  it('lets no configured header stand for its own, nor break the request', async () => {
    await call(answer(200), {
      args: { a: 1 },
      headers: {
        'x-TENANT-id': 'evil',
        'Idempotency-Key': 'evil',
        Host: 'evil',
        'Content-Length': '1',
        'X-A': 'a\r\nX-B: b',
      },
    });
    expect(seen[0]?.headers).toMatchObject({ 'x-tenant-id': 'acme', 'idempotency-key': 'key_1', 'x-a': 'aX-B: b' });
    expect(seen[0]?.headers.host).toMatch(/^127\.0\.0\.1:/);
    expect(seen[0]?.headers).not.toHaveProperty('x-b');
    expect(seen[0]?.body).toBe('{"a":1}');
  });

  it.each(['张三', 'a b', 'a%20b', 'x\r\nX-Admin: 1', '🦀', '\ud800'])(
    'writes the user id %j so that it can be read back',
    async (userId) => {
      await call(answer(200), { context: { ...callContext(), userId } });
      const sent = seen[0]?.headers['x-user-id'];
      expect(decodeURIComponent(String(sent))).toBe(userId.toWellFormed());
      expect(seen[0]?.headers).not.toHaveProperty('x-admin');
    },
  );

  it.each([
    [
      'JSON, compacted, numbers as written',
      answer(200, '{ "a" : 1.0,\n "b": "x  y", "n": 12345678901234567890 }'),
      '{"a":1.0,"b":"x  y","n":12345678901234567890}',
    ],
    ['text as it is', answer(201, ' a  b\n', 'text/plain'), ' a  b\n'],
    ['what only says that it is JSON, as it is', answer(200, '{ broken'), '{ broken'],
    ['nothing', answer(204), '(no content)'],
    ['a picture as a note', answer(200, 'PNG', 'image/png'), '(image/png, 3 bytes: not shown)'],
    ['a body without a type', answer(200, '{"a": 1}', ''), '{"a":1}'],
  ])('answers %s', async (_what, listener, result) => {
    expect(await call(listener)).toBe(result);
  });

  it('bounds a result', async () => {
    const result = await call(answer(200, 'x'.repeat(3_000_000), 'text/plain'));
    expect(result.slice(999_990)).toBe(`xxxxxxxxxx\n[Cut: the first 1000000 bytes.]`);
  });

  it.each([
    ['{"type":"about:blank","title":"Bad","detail":"No such order."}', 'HTTP 404 Not Found: No such order.'],
    ['{"error":{"message":"Order  is\\nlocked"}}', 'HTTP 404 Not Found: Order is locked'],
    ['<html><style>p{}</style><body><h1>Gone</h1> fishing</body></html>', 'HTTP 404 Not Found: Gone fishing'],
    ['', 'HTTP 404 Not Found.'],
  ])('tells of a failure %j: %s', async (body, message) => {
    await expect(call(answer(404, body))).rejects.toThrow(`The tool answered ${message}`);
  });

  it('shows no secret, and little of a long body', async () => {
    const echo: RequestListener = (request, response) =>
      response
        .writeHead(500)
        .end(`bad key ${request.headers.authorization} and ${request.headers['x-key']} ${'y'.repeat(900)}`);
    const error = await call(echo, { headers: { Authorization: 'Bearer s3cr3t-token', 'X-Key': 'abcdef' } }).catch(
      (reason: Error) => reason,
    );
    expect(String(error)).toMatch(
      /^ToolError: The tool answered HTTP 500 Internal Server Error: bad key \*\*\* and \*\*\* y+…$/,
    );
    expect(String(error).length).toBeLessThan(300);
  });

  it('follows a redirect of a GET only', async () => {
    const redirect: RequestListener = (request, response) =>
      request.url?.startsWith('/orders') === true
        ? response.writeHead(307, { location: '/new' }).end()
        : response.end('"new"');
    expect(await call(redirect, { method: 'GET' })).toBe('"new"');
    await expect(call(redirect)).rejects.toThrow('answered with a redirect, which is followed for GET only');
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['the answer', () => {}],
    [
      'the rest of the body',
      (_request: IncomingMessage, response: Parameters<RequestListener>[1]) => void response.write('{'),
    ],
  ])('closes the socket on abort while it waits for %s', async (_what, listener) => {
    const controller = new AbortController();
    const running = call(
      (request, response) => {
        listener(request, response);
        setTimeout(() => controller.abort(new Error('cancelled')), 50);
      },
      { context: callContext(controller.signal) },
    );
    await expect(running).rejects.toThrow('cancelled');
    await expect.poll(() => server?.sockets.size, { timeout: 1_000 }).toBe(0);
  });

  it('says when the connection breaks off', async () => {
    const broken: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setTimeout(() => response.destroy(), 20);
    };
    await expect(call(broken)).rejects.toThrow(/^127\.0\.0\.1:\d+ cannot be reached: it closed the connection\.$/);
  });
});
