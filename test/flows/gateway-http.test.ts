import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { startGateway } from '@turnwire/gateway/gateway';
import { agentSchema } from '@turnwire/shared/contracts/http-agents';
import { readinessSchema } from '@turnwire/shared/contracts/http-health';
import { mcpServerSchema } from '@turnwire/shared/contracts/http-mcp-servers';
import { memorySchema } from '@turnwire/shared/contracts/http-memories';
import { pageSchema } from '@turnwire/shared/contracts/http-page';
import { problemSchema } from '@turnwire/shared/contracts/http-problem';
import { sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { toolSchema } from '@turnwire/shared/contracts/http-tools';
import { unavailable } from '@turnwire/shared/domain/errors';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type GatewayFixture, startFixture } from './gateway-fixture.ts';

let fixture: GatewayFixture;

const silent = async () => {};
const code = ({ status, body }: Answer) => `${status} ${body.code}`;

/** A call with full control of its bytes. Answers the status line and what follows. */
function raw(text: string): Promise<string> {
  const { port } = new URL(fixture.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.end(text);
  });
}

describe('without keys', () => {
  beforeAll(async () => {
    fixture = await startFixture(silent);
  });
  afterAll(() => fixture.close());

  const sessions = '/v1/sessions';
  const refusals: [string, string, string, unknown, Record<string, string>, string, string?][] = [
    ['an unknown route', 'GET', '/v2/x', undefined, {}, '404 not_found'],
    ['an unknown method', 'PATCH', '/v1/agents/a', undefined, {}, '404 not_found'],
    ['an unknown session', 'GET', `${sessions}/ses_0`, undefined, {}, '404 not_found'],
    ['an id that could not be one', 'GET', `${sessions}/a.%2A.%3E/events`, undefined, {}, '404 not_found'],
    ['an id with a null byte', 'GET', `${sessions}/a%00b`, undefined, {}, '404 not_found'],
    ['an unknown agent id with a null byte', 'GET', '/v1/agents/a%00b', undefined, {}, '404 not_found'],
    ['a path that is not encoded right', 'GET', '/v1/agents/%zz', undefined, {}, '400 invalid_request'],
    ['an id that is far too long', 'GET', `/v1/agents/${'a'.repeat(400)}`, undefined, {}, '4'],
    ['an unknown turn', 'GET', '/v1/turns/turn_0', undefined, {}, '404 not_found'],
    ['a cancel of an unknown turn', 'POST', '/v1/turns/turn_0/cancel', {}, {}, '404 not_found'],
    ['an unknown memory', 'DELETE', '/v1/memories/mem_0', undefined, {}, '404 not_found'],
    ['a session with an unknown agent', 'POST', sessions, { agentId: 'no', userId: 'u' }, {}, '404 not_found'],
    ['no JSON', 'POST', sessions, '{"agentId":', {}, '400 invalid_request'],
    ['no body', 'POST', sessions, undefined, {}, '422 invalid_request', ''],
    ['an empty JSON body', 'POST', sessions, '', {}, '422 invalid_request', ''],
    ['a body that is an array', 'POST', sessions, [], {}, '422 invalid_request', ''],
    ['a body that is null', 'PUT', '/v1/agents/a', null, {}, '422 invalid_request', ''],
    [
      'a body that is no JSON by its type',
      'POST',
      sessions,
      'a=b',
      { 'content-type': 'text/plain' },
      '415 invalid_request',
    ],
    ['a form', 'POST', sessions, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }, '415 invalid_request'],
    ['a prototype', 'POST', sessions, '{"agentId":"a","userId":"u","__proto__":{"x":1}}', {}, '400 invalid_request'],
    ['a body over 1 MiB', 'POST', sessions, { x: 'x'.repeat(1_100_000) }, {}, '413 payload_too_large'],
    ['deep JSON', 'POST', sessions, '['.repeat(400_000) + ']'.repeat(400_000), {}, '422 invalid_request'],
    ['a missing field', 'POST', sessions, { agentId: 'a' }, {}, '422 invalid_request', 'userId'],
    ['an unknown field', 'POST', sessions, { agentId: 'a', userId: 'u', meta: {} }, {}, '422 invalid_request', 'meta'],
    [
      'a long user id',
      'POST',
      sessions,
      { agentId: 'a', userId: 'u'.repeat(257) },
      {},
      '422 invalid_request',
      'userId',
    ],
    [
      'metadata over 16 KB',
      'POST',
      sessions,
      { agentId: 'a', userId: 'u', metadata: { x: 'é'.repeat(8200) } },
      {},
      '422 invalid_request',
      'metadata',
    ],
    ['a limit of 0', 'GET', `${sessions}?limit=0`, undefined, {}, '422 invalid_request', 'limit'],
    ['a limit of 201', 'GET', '/v1/agents?limit=201', undefined, {}, '422 invalid_request', 'limit'],
    ['an unknown state', 'GET', `${sessions}?state=BUSY`, undefined, {}, '422 invalid_request', 'state'],
    ['a cursor of nobody', 'GET', `${sessions}?cursor=junk`, undefined, {}, '422 invalid_request'],
    ['memories of nobody', 'GET', '/v1/memories', undefined, {}, '422 invalid_request', 'userId'],
    ['forgetting nobody', 'DELETE', '/v1/memories', undefined, {}, '422 invalid_request', 'userId'],
    ['an empty turn', 'POST', `${sessions}/ses_0/turns`, { text: '' }, {}, '422 invalid_request', 'text'],
    ['a blank turn', 'POST', `${sessions}/ses_0/turns`, { text: ' \n' }, {}, '422 invalid_request', 'text'],
    [
      'a long turn',
      'POST',
      `${sessions}/ses_0/turns`,
      { text: 'x'.repeat(200_001) },
      {},
      '422 invalid_request',
      'text',
    ],
    [
      'an unknown onBusy',
      'POST',
      `${sessions}/ses_0/turns`,
      { text: 'x', onBusy: 'steer' },
      {},
      '422 invalid_request',
      'onBusy',
    ],
    [
      'an edit of all calls',
      'POST',
      `${sessions}/ses_0/resume`,
      { action: 'edit' },
      {},
      '422 invalid_request',
      'action',
    ],
    [
      'an edit without arguments',
      'POST',
      `${sessions}/ses_0/resume`,
      { decisions: { c: { action: 'edit' } } },
      {},
      '422 invalid_request',
      'decisions.c.arguments',
    ],
    [
      'an answer without a result',
      'POST',
      `${sessions}/ses_0/resume`,
      { decisions: { c: { action: 'respond' } } },
      {},
      '422 invalid_request',
      'decisions.c.result',
    ],
    [
      'text mode',
      'PUT',
      '/v1/agents/a',
      { model: { toolCalls: 'text' } },
      {},
      '422 invalid_request',
      'model.toolCalls',
    ],
    [
      'reasoning that is given back',
      'PUT',
      '/v1/agents/a',
      { model: { reasoning: 'echo' } },
      {},
      '422 invalid_request',
      'model.reasoning',
    ],
    ['a limit of errors', 'PUT', '/v1/agents/a', { errors: { max: 5 } }, {}, '422 invalid_request', 'errors'],
    ['an agent with a bad name', 'PUT', '/v1/agents/a%20b', {}, {}, '422 invalid_request', 'id'],
    ['an agent of another id', 'PUT', '/v1/agents/a', { id: 'b' }, {}, '422 invalid_request', 'id'],
    [
      'a bad temperature',
      'PUT',
      '/v1/agents/a',
      { model: { temperature: 9 } },
      {},
      '422 invalid_request',
      'model.temperature',
    ],
    ['a built-in tool', 'PUT', '/v1/tools/calculator', { url: 'http://x.test' }, {}, '422 invalid_request', 'name'],
    ['a tool without URL', 'PUT', '/v1/tools/t', {}, {}, '422 invalid_request', 'url'],
    ['a tool at a file', 'PUT', '/v1/tools/t', { url: 'file:///etc/passwd' }, {}, '422 invalid_request', 'url'],
    ['a password in a URL', 'PUT', '/v1/tools/t', { url: 'http://u:p@x.test' }, {}, '422 invalid_request', 'url'],
    [
      'a tool whose arguments are no object',
      'PUT',
      '/v1/tools/t',
      { url: 'http://x.test', parameters: { type: 'string' } },
      {},
      '422 invalid_request',
      'parameters.type',
    ],
    [
      'a header that breaks the line',
      'PUT',
      '/v1/tools/t',
      { url: 'http://x.test', headers: { a: 'b\r\nc: d' } },
      {},
      '422 invalid_request',
      'headers.a',
    ],
    [
      'a mask without a secret',
      'PUT',
      '/v1/tools/t',
      { url: 'http://x.test', headers: { a: '***' } },
      {},
      '422 invalid_request',
      'headers.a',
    ],
    [
      'an MCP server that is two',
      'PUT',
      '/v1/mcp-servers/m',
      { command: 'x', url: 'http://x.test' },
      {},
      '422 invalid_request',
      '',
    ],
    ['a change of nothing', 'PATCH', '/v1/memories/mem_0', {}, {}, '422 invalid_request', ''],
  ];

  test.each(refusals)('%s is a problem document', async (_name, method, path, body, headers, expected, field) => {
    const answer = await fixture.call(method, path, body, headers);
    expect(code(answer).startsWith(expected), code(answer)).toBe(true);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const problem = problemSchema.parse(answer.body);
    expect(problem).toMatchObject({ type: `urn:turnwire:problem:${problem.code}`, status: answer.status });
    expect(problem.detail).not.toBe('');
    if (field !== undefined) expect(problem.errors?.map(({ path: at }) => at)).toContain(field);
  });

  test('text comes back as it was sent, but for lone surrogates', async () => {
    await fixture.call('PUT', '/v1/agents/a', {});
    const { body } = await fixture.call('POST', sessions, { agentId: 'a', userId: 'ü\0' });
    expect(sessionSchema.parse(body).userId).toBe('ü\0');
    const listed = await fixture.call('GET', `${sessions}?userId=${encodeURIComponent('ü\0')}`);
    expect(pageSchema(sessionSchema).parse(listed.body).items).toEqual([body]);
    const text = '杭州 🦀 \0 \u2028 \\ "';
    const turn = await fixture.call('POST', `${sessions}/${body.id}/turns`, `{"text":${JSON.stringify(text)}}`);
    expect(turn.body.text).toBe(text);
    const lone = await fixture.call('POST', `${sessions}/${body.id}/turns`, '{"text":"a\\ud800b"}');
    expect(lone.body.text).toBe('a\ufffdb');
    const long = await fixture.call('POST', `${sessions}/${body.id}/turns`, { text: '杭'.repeat(200_000) });
    expect(long.status).toBe(202);
  });

  test('agents are put, read, listed and deleted', async () => {
    const settings = { id: 'support', name: 'Support', model: { name: 'm' }, tools: ['calculator'], mode: 'task' };
    const created = await fixture.call('PUT', '/v1/agents/support', settings);
    expect(created.status).toBe(201);
    expect(agentSchema.parse(created.body)).toMatchObject({ id: 'support', mode: 'task', revision: 1 });
    const same = await fixture.call('PUT', '/v1/agents/support', settings);
    expect([same.status, same.body.revision]).toEqual([200, 1]);
    const changed = await fixture.call('PUT', '/v1/agents/support', { ...settings, name: 'Help' });
    expect([changed.status, changed.body.revision]).toEqual([200, 2]);
    expect((await fixture.call('GET', '/v1/agents/support')).body).toEqual(changed.body);
    const listed = pageSchema(agentSchema).parse((await fixture.call('GET', '/v1/agents')).body);
    expect(listed.items.map(({ id }) => id)).toContain('support');
    expect((await fixture.call('DELETE', '/v1/agents/support')).status).toBe(204);
    expect(code(await fixture.call('DELETE', '/v1/agents/support'))).toBe('404 not_found');
    expect(code(await fixture.call('GET', '/v1/agents/support'))).toBe('404 not_found');
  });

  test('secrets of tools and servers are kept and never shown', async () => {
    const tool = { url: 'http://x.test/t', headers: { 'x-key': 'hush-hush', plain: 'open' }, idempotent: true };
    const created = await fixture.call('PUT', '/v1/tools/mail', tool);
    expect(created.status).toBe(201);
    expect(toolSchema.parse(created.body).headers).toEqual({ 'x-key': '***', plain: '***' });
    // What was read can be sent back.
    const back = { ...tool, headers: { 'x-key': '***', plain: 'changed' } };
    expect((await fixture.call('PUT', '/v1/tools/mail', back)).status).toBe(200);
    const stored = await fixture.adapters.store.tools.get('default', 'mail');
    expect(stored?.value.headers).toEqual({ 'x-key': 'hush-hush', plain: 'changed' });
    expect(stored?.value).not.toHaveProperty('id');
    const program = { command: 'npx', args: ['server'], env: { TOKEN: 'hush-hush' } };
    const server = await fixture.call('PUT', '/v1/mcp-servers/files', program);
    expect(mcpServerSchema.parse(server.body)).toMatchObject({ ...program, env: { TOKEN: '***' } });
    const endpoint = { url: 'https://x.test/mcp', headers: { authorization: 'Bearer hush-hush' } };
    expect((await fixture.call('PUT', '/v1/mcp-servers/files', endpoint)).status).toBe(200);
    const answers = await Promise.all(
      ['/v1/tools', '/v1/tools/mail', '/v1/mcp-servers', '/v1/mcp-servers/files'].map((path) =>
        fixture.call('GET', path),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toMatch(/hush|changed/);
    expect((await fixture.call('DELETE', '/v1/tools/mail')).status).toBe(204);
    expect((await fixture.call('DELETE', '/v1/mcp-servers/files')).status).toBe(204);
    expect(code(await fixture.call('GET', '/v1/mcp-servers/files'))).toBe('404 not_found');
  });

  test('memories are added, searched, changed and forgotten', async () => {
    const key = { 'idempotency-key': 'm' };
    const added = await fixture.call('POST', '/v1/memories', { userId: 'ada', text: 'Lives in Paris.' }, key);
    expect(added.status).toBe(201);
    expect(memorySchema.parse(added.body)).toMatchObject({ kind: 'fact', quote: null, validTo: null });
    const again = await fixture.call('POST', '/v1/memories', { userId: 'ada', text: 'Lives in Paris.' }, key);
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([added.body, 'true']);
    await fixture.call('POST', '/v1/memories', { userId: 'ada', text: 'Likes chess.' });
    const list = async (query = '') => (await fixture.call('GET', `/v1/memories?userId=ada${query}`)).body;
    expect(pageSchema(memorySchema).parse(await list()).items).toHaveLength(2);
    const found = await list('&query=Where%20in%20Paris%3F');
    expect(found.items.map(({ text }: { text: string }) => text)).toEqual(['Lives in Paris.']);
    const patched = await fixture.call('PATCH', `/v1/memories/${added.body.id}`, {
      text: 'Lives in Rome.',
      slot: null,
    });
    expect(memorySchema.parse(patched.body).text).toBe('Lives in Rome.');
    await fixture.call('PATCH', `/v1/memories/${added.body.id}`, { validTo: '2020-01-01T00:00:00Z' });
    expect((await list()).items).toHaveLength(1);
    const [{ id }] = (await list()).items;
    expect((await fixture.call('DELETE', `/v1/memories/${id}`)).status).toBe(204);
    expect((await list()).items).toEqual([]);
    expect((await fixture.call('DELETE', '/v1/memories?userId=ada')).status).toBe(204);
  });

  test('a session is made once per Idempotency-Key', async () => {
    await fixture.call('PUT', '/v1/agents/once', {});
    const make = () =>
      fixture.call('POST', sessions, { userId: 'u', agentId: 'once' }, { 'idempotency-key': 'session 1' });
    const answers = await Promise.all(Array.from({ length: 20 }, make));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.has('idempotency-replayed'))).toHaveLength(19);
    const other = await fixture.call(
      'POST',
      sessions,
      { userId: 'v', agentId: 'once' },
      { 'idempotency-key': 'session 1' },
    );
    expect(code(other)).toBe('422 idempotency_mismatch');
  });

  test('only this machine may call, by a name of its own', async () => {
    const { port } = new URL(fixture.url);
    const get = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const request = httpRequest({ port, host: '127.0.0.1', path: '/healthz', headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        request.on('error', reject).end();
      });
    expect(await get({ host: `localhost:${port}` })).toBe(200);
    expect(await get({ host: '127.0.0.1' })).toBe(200);
    expect(await get({ host: '[::1]:80' })).toBe(200);
    expect(await get({ host: 'localhost', origin: `http://localhost:${port}` })).toBe(200);
    for (const host of [
      'evil.test',
      '127.0.0.1.evil.test',
      'localhost.evil.test:80',
      '128.0.0.1',
      'evil.test@localhost',
    ])
      expect(await get({ host }), host).toBe(403);
    for (const origin of ['http://evil.test', 'null', 'http://localhost.evil.test'])
      expect(await get({ host: 'localhost', origin }), origin).toBe(403);
    expect(await raw('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 403 /);
  });

  test('health, readiness and metrics are open', async () => {
    expect(await fixture.call('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect((await fetch(`${fixture.url}/healthz`, { method: 'HEAD' })).status).toBe(200);
    const ready = await fixture.call('GET', '/readyz');
    expect(ready.status).toBe(200);
    expect(readinessSchema.parse(ready.body)).toMatchObject({
      status: 'ready',
      store: { kind: 'sqlite', ok: true },
      demo: true,
      note: expect.stringMatching(/no language model/),
    });
    const metrics = await fixture.call('GET', '/metrics');
    expect(metrics.headers.get('content-type')).toBe(fixture.adapters.metrics.contentType);
    expect(metrics.body).toMatch(/^turnwire_sse_clients /m);
  });

  test('a part that is away or does not answer makes it unready, within its time', async () => {
    const { bus, queue } = fixture.adapters;
    const pings = [bus.ping, queue.ping] as const;
    bus.ping = () => new Promise(() => {});
    queue.ping = () => Promise.reject(unavailable('The queue', new Error('down')));
    const before = performance.now();
    const { status, body } = await fixture.call('GET', '/readyz');
    expect(performance.now() - before).toBeLessThan(3000);
    [bus.ping, queue.ping] = pings;
    expect(status).toBe(503);
    expect(readinessSchema.parse(body)).toMatchObject({
      store: { ok: true },
      queue: { ok: false },
      bus: { ok: false },
    });
  });

  test('a store that is away is a 503, and a bug a 500 that says nothing', async () => {
    const { sessions: port } = fixture.adapters.store;
    const { get } = port;
    port.get = () => Promise.reject(unavailable('The store', new Error('connection refused')));
    const away = await fixture.call('GET', `${sessions}/ses_1`);
    expect([code(away), away.headers.get('retry-after')]).toEqual(['503 unavailable', '1']);
    port.get = () => Promise.reject(new Error('SELECT secret'));
    const bug = await fixture.call('GET', `${sessions}/ses_1`);
    port.get = get;
    expect(code(bug)).toBe('500 internal');
    expect(JSON.stringify(bug.body)).not.toMatch(/secret|connection/);
  });

  test('the API is described whole, and its pages need nothing from elsewhere', async () => {
    const { body: api } = await fixture.call('GET', '/openapi.json');
    expect(api.openapi).toBe('3.1.0');
    const operations = Object.entries<Answer['body']>(api.paths).flatMap(([path, methods]) =>
      Object.entries<Answer['body']>(methods).map(([method, operation]) => ({
        name: `${method} ${path}`,
        method,
        operation,
      })),
    );
    expect(operations.map(({ name }) => name).sort()).toEqual(EVERY_OPERATION);
    for (const { name, method, operation } of operations) {
      expect(operation.operationId, name).toBeTruthy();
      expect(operation.responses.default?.content, name).toHaveProperty('application/problem+json');
      expect(
        Object.keys(operation.responses).some((status) => status.startsWith('2')),
        name,
      ).toBe(true);
      if (method === 'put' || method === 'patch') expect(operation.requestBody, name).toBeTruthy();
      if (method === 'post') expect(JSON.stringify(operation.parameters), name).toContain('Idempotency-Key');
    }
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
    const references = [...JSON.stringify(api).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect([...new Set(references)].sort()).toEqual(Object.keys(api.components.schemas).sort());
    const turn = api.paths['/v1/sessions/{id}/turns'].post.responses[200].content['text/event-stream'];
    expect(JSON.stringify(turn)).toMatch(/turn\.delta/);
    const page = await fixture.call('GET', '/docs/');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const scripts = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source);
    expect(scripts.length).toBeGreaterThan(0);
    for (const source of scripts) {
      const { origin, pathname } = new URL(source, `${fixture.url}/docs/`);
      expect(origin).toBe(fixture.url);
      expect((await fetch(fixture.url + pathname)).status).toBe(200);
    }
    expect((await fetch(`${fixture.url}/docs`)).url).toBe(`${fixture.url}/docs/`);
    expect((await fixture.call('GET', '/docs/nothing')).status).toBe(404);
  });
});

describe('with keys', () => {
  const keys = [
    { key: 'admin-key-0123456789', tenantId: 'acme', role: 'admin' },
    { key: 'user-key-0123456789', tenantId: 'acme', role: 'user' },
    { key: 'other-key-0123456789', tenantId: 'other', role: 'admin' },
  ] as const;
  const [admin, user, other] = keys.map(({ key }) => ({ authorization: `Bearer ${key}` }));

  beforeAll(async () => {
    fixture = await startFixture(silent, { apiKeys: keys, metricsKey: 'metrics-key-0123456789' });
  });
  afterAll(() => fixture.close());

  test.each([
    ['none', {}],
    ['an unknown one', { authorization: 'Bearer nope' }],
    ['a part of one', { authorization: 'Bearer admin-key-012345678' }],
    ['an empty one', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${btoa('admin-key-0123456789:')}` }],
  ])('%s is refused', async (_name, headers: Record<string, string>) => {
    const answer = await fixture.call('GET', '/v1/sessions', undefined, headers);
    expect(code(answer)).toBe('401 unauthorized');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  test('what is open stays open, and metrics have their own key', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs/']) {
      expect((await fixture.call('GET', path)).status, path).toBe(200);
    }
    expect(code(await fixture.call('GET', '/metrics'))).toBe('401 unauthorized');
    expect(code(await fixture.call('GET', '/metrics', undefined, admin))).toBe('401 unauthorized');
    const { status } = await fixture.call('GET', '/metrics', undefined, {
      authorization: 'bearer metrics-key-0123456789',
    });
    expect(status).toBe(200);
  });

  test('a user reads agents and has sessions; the rest is for admins', async () => {
    const adminOnly: [string, string, unknown?][] = [
      ['PUT', '/v1/agents/a', {}],
      ['DELETE', '/v1/agents/a'],
      ['PUT', '/v1/tools/t', { url: 'http://x.test' }],
      ['GET', '/v1/tools'],
      ['GET', '/v1/tools/t'],
      ['DELETE', '/v1/tools/t'],
      ['PUT', '/v1/mcp-servers/m', { command: 'x' }],
      ['GET', '/v1/mcp-servers'],
      ['DELETE', '/v1/mcp-servers/m'],
    ];
    for (const [method, path, body] of adminOnly) {
      expect(code(await fixture.call(method, path, body, user)), `${method} ${path}`).toBe('403 forbidden');
    }
    expect((await fixture.call('PUT', '/v1/agents/a', {}, admin)).status).toBe(201);
    expect((await fixture.call('GET', '/v1/agents/a', undefined, user)).status).toBe(200);
    const { status, body } = await fixture.call('POST', '/v1/sessions', { agentId: 'a', userId: 'u' }, user);
    expect([status, body.tenantId]).toEqual([201, 'acme']);
  });

  test('no data crosses tenants', async () => {
    await fixture.call('PUT', '/v1/agents/mine', {}, admin);
    await fixture.call('PUT', '/v1/tools/mine', { url: 'http://x.test' }, admin);
    const session = await fixture.call('POST', '/v1/sessions', { agentId: 'mine', userId: 'u' }, admin);
    const turn = await fixture.call('POST', `/v1/sessions/${session.body.id}/turns`, { text: 'x' }, admin);
    const memory = await fixture.call('POST', '/v1/memories', { userId: 'u', text: 'mine' }, admin);
    expect([session.status, turn.status, memory.status]).toEqual([201, 202, 201]);
    const at = `/v1/sessions/${session.body.id}`;
    const foreign: [string, string, unknown?][] = [
      ['GET', '/v1/agents/mine'],
      ['DELETE', '/v1/agents/mine'],
      ['GET', '/v1/tools/mine'],
      ['DELETE', '/v1/tools/mine'],
      ['POST', '/v1/sessions', { agentId: 'mine', userId: 'u' }],
      ['GET', at],
      ['GET', `${at}/messages`],
      ['GET', `${at}/events?after=0`],
      ['POST', `${at}/turns`, { text: 'x' }],
      ['POST', `${at}/resume`],
      ['POST', `${at}/cancel`],
      ['DELETE', at],
      ['GET', `/v1/turns/${turn.body.id}`],
      ['POST', `/v1/turns/${turn.body.id}/cancel`],
      ['PATCH', `/v1/memories/${memory.body.id}`, { text: 'yours' }],
      ['DELETE', `/v1/memories/${memory.body.id}`],
    ];
    for (const [method, path, body] of foreign) {
      expect(code(await fixture.call(method, path, body, other)), `${method} ${path}`).toBe('404 not_found');
      const accept = { accept: 'text/event-stream', ...other };
      if (method === 'POST') expect(code(await fixture.call(method, path, body, accept)), path).toBe('404 not_found');
    }
    for (const path of ['/v1/agents', '/v1/tools', '/v1/sessions', '/v1/memories?userId=u']) {
      expect((await fixture.call('GET', path, undefined, other)).body.items, path).toEqual([]);
    }
    expect((await fixture.call('GET', at, undefined, admin)).status).toBe(200);
  });

  test('a key is checked before the body is read', async () => {
    const { port } = new URL(fixture.url);
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest({ port, path: '/v1/sessions', method: 'POST', headers: { 'content-length': 1000 } });
      request.on('response', (response) => resolve(response.statusCode));
      request.on('error', reject).flushHeaders();
    });
    expect(status).toBe(401);
  });

  test('any host name may be used', async () => {
    expect(await raw('GET /healthz HTTP/1.1\r\nHost: agents.test\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });
});

describe('the server', () => {
  afterEach(() => fixture.close());

  test('takes no command for an MCP server where its operator does not allow that', async () => {
    fixture = await startFixture(silent, { toolsAllowStdio: false });
    expect(code(await fixture.call('PUT', '/v1/mcp-servers/files', { command: 'npx' }))).toBe('403 forbidden');
    expect((await fixture.call('PUT', '/v1/mcp-servers/files', { url: 'https://x.test/mcp' })).status).toBe(201);
  });

  test('refuses to be open to all without keys', async () => {
    fixture = await startFixture(silent);
    const model = { label: 'm', demo: false };
    const deps = { ...fixture.adapters, model, apiKeys: [], toolsAllowStdio: true, metricsKey: null, port: 0 };
    for (const host of ['0.0.0.0', '::', '10.0.0.1']) {
      await expect(startGateway({ ...deps, host })).rejects.toMatchObject({ code: 'forbidden' });
    }
  });
});

const EVERY_OPERATION = [
  'delete /v1/agents/{id}',
  'delete /v1/mcp-servers/{name}',
  'delete /v1/memories',
  'delete /v1/memories/{id}',
  'delete /v1/sessions/{id}',
  'delete /v1/tools/{name}',
  'get /healthz',
  'get /metrics',
  'get /readyz',
  'get /v1/agents',
  'get /v1/agents/{id}',
  'get /v1/mcp-servers',
  'get /v1/mcp-servers/{name}',
  'get /v1/memories',
  'get /v1/sessions',
  'get /v1/sessions/{id}',
  'get /v1/sessions/{id}/events',
  'get /v1/sessions/{id}/messages',
  'get /v1/tools',
  'get /v1/tools/{name}',
  'get /v1/turns/{id}',
  'patch /v1/memories/{id}',
  'post /v1/memories',
  'post /v1/sessions',
  'post /v1/sessions/{id}/cancel',
  'post /v1/sessions/{id}/resume',
  'post /v1/sessions/{id}/turns',
  'post /v1/turns/{id}/cancel',
  'put /v1/agents/{id}',
  'put /v1/mcp-servers/{name}',
  'put /v1/tools/{name}',
];
