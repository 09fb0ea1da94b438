import { once } from 'node:events';
import { connect } from 'node:net';
import { problemSchema } from '@turnwire/shared/contracts/http-problem';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayFixture, openStream, startFixture } from './gateway-fixture.ts';

const keys = [{ key: 'admin-key-0123456789', tenantId: 'acme', role: 'admin' }] as const;
const HOST = 'Host: x.test\r\n';
const POST = `POST /v1/sessions HTTP/1.1\r\n${HOST}Authorization: Bearer ${keys[0].key}\r\nContent-Type: application/json\r\n`;

const log = createRecordingLogger();
let fixture: GatewayFixture;

beforeAll(async () => {
  fixture = await startFixture(async (run) => run.delta('hello'), { apiKeys: keys, log });
});
afterAll(() => fixture.close());

interface Wire {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
  readonly text: string;
}

/** Sends bytes as they are, and answers all that comes until the server closes or, where it does not, is silent. */
async function send(...parts: (string | Buffer)[]): Promise<Wire> {
  const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  socket.on('error', () => {});
  for (const part of parts) socket.write(part);
  socket.setTimeout(300, () => socket.destroy());
  await once(socket, 'close');
  const [headers = '', ...body] = text.split('\r\n\r\n');
  return { status: Number(headers.split(' ')[1] ?? 0), headers, body: body.join('\r\n\r\n'), text };
}

describe('what is no HTTP', () => {
  test.each([
    ['a greeting', 'hello\r\n\r\n', 400],
    ['a TLS hello', Buffer.from([0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5]), 400],
    ['an unknown method', `FETCH /healthz HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['a header without a name', `GET /healthz HTTP/1.1\r\n${HOST}: x\r\n\r\n`, 400],
    ['a null byte in a header', `GET /healthz HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, 400],
    ['bare line feeds', 'GET /healthz HTTP/1.1\nHost: x.test\n\n', 400],
    ['a length that is no number', `${POST}Content-Length: abc\r\n\r\n{}`, 400],
    ['two ways to tell the length', `${POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['a chunk whose size is no number', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`, 400],
    ['a header that is too long', `GET /healthz HTTP/1.1\r\n${HOST}X: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['a path that is too long', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['a path that is not encoded right', `GET /v1/agents/%ff HTTP/1.1\r\n${HOST}\r\n`, 400],
  ])('%s is a problem document', async (_name, bytes, status) => {
    const answer = await send(bytes);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatch(/^content-type: application\/problem\+json$/im);
    expect(answer.headers).toMatch(/^x-request-id: req_/im);
    expect(problemSchema.parse(JSON.parse(answer.body))).toMatchObject({ status, code: 'invalid_request' });
  });

  test('HTTP/1.0 needs no host', async () => {
    expect((await send('GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  test('an expectation that nobody knows is ignored', async () => {
    const answer = await send(`GET /healthz HTTP/1.1\r\n${HOST}Expect: miracles\r\n\r\n`);
    expect(answer).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test('behind an open stream ends it, and puts nothing into it', async () => {
    const id = await session();
    const stream = `GET /v1/sessions/${id}/events HTTP/1.1\r\n${HOST}Authorization: Bearer ${keys[0].key}\r\n\r\n`;
    const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.write(stream);
    await expect.poll(() => text).toContain('retry:');
    socket.write('hello\r\n\r\n');
    await once(socket, 'close');
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test('a body that is cut off is refused, and stores nothing', async () => {
    const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.end(`${POST}Content-Length: 50\r\n\r\n{"agentId":`);
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });
});

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  return fixture.call(method, path, body, { authorization: `Bearer ${keys[0].key}`, ...headers });
}

async function session(): Promise<string> {
  await call('PUT', '/v1/agents/helper', {});
  return (await call('POST', '/v1/sessions', { agentId: 'helper', userId: 'ada' })).body.id;
}

describe('a body', () => {
  test('that is not UTF-8 is refused, and not mended', async () => {
    const before = Buffer.from('{"agentId":"helper","userId":"');
    const body = Buffer.concat([before, Buffer.from([0xff, 0xc3, 0x28]), Buffer.from('"}')]);
    const answer = await send(`${POST}Content-Length: ${body.length}\r\n\r\n`, body);
    expect([answer.status, JSON.parse(answer.body).detail]).toEqual([400, 'The body is not UTF-8.']);
  });

  test('in several pieces, cut within a character, is one body', async () => {
    await call('PUT', '/v1/agents/helper', {});
    const body = Buffer.from('{"agentId":"helper","userId":"杭州🦀"}');
    const answer = await send(
      `${POST}Content-Length: ${body.length}\r\n\r\n`,
      ...[...body].map((x) => Buffer.from([x])),
    );
    expect([answer.status, JSON.parse(answer.body).userId]).toEqual([201, '杭州🦀']);
  });

  test('that is compressed is refused by that name', async () => {
    const answer = await call('POST', '/v1/sessions', '{}', { 'content-encoding': 'gzip' });
    expect([answer.status, answer.body.code]).toEqual([415, 'invalid_request']);
    expect(answer.body.detail).toContain('Content-Encoding');
  });

  test.each([
    ['unknown fields', Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field${n}`, 1]))],
    ['wrong fields', { decisions: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`call${n}`, 1])) }],
    ['one field with a name of 500 KB', { ['x'.repeat(500_000)]: 1 }],
  ])('with %s is answered with a few of them', async (_name, body) => {
    const answer = await call('POST', '/v1/sessions/ses_0/resume', body);
    expect(answer.status).toBe(422);
    expect(problemSchema.parse(answer.body).errors?.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(answer.body).length).toBeLessThan(20_000);
  });
});

describe('HEAD', () => {
  const head = (path: string) =>
    fetch(fixture.url + path, { method: 'HEAD', headers: { authorization: `Bearer ${keys[0].key}` } });

  test('answers what GET would, without its body', async () => {
    for (const path of ['/healthz', '/readyz', '/v1/agents', '/openapi.json', '/docs/']) {
      const [answer, get] = [await head(path), await call('GET', path)];
      expect([answer.status, await answer.text()], path).toEqual([200, '']);
      expect(answer.headers.get('content-type'), path).toBe(get.headers.get('content-type'));
    }
  });

  test('needs the same key as GET', async () => {
    const statusOf = async (path: string) => (await fetch(fixture.url + path, { method: 'HEAD' })).status;
    expect([await statusOf('/v1/agents'), await statusOf('/v1/tools')]).toEqual([401, 401]);
  });

  test('of a stream, which has no end, is refused', async () => {
    expect((await head(`/v1/sessions/${await session()}/events`)).status).toBe(404);
  });
});

test('a page of the documentation that is not there is a problem document like any other', async () => {
  const answer = await call('GET', '/docs/nothing');
  expect(problemSchema.parse(answer.body)).toMatchObject({ status: 404, code: 'not_found', instance: '/docs/nothing' });
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
});

test('the description says what may be left out, who may call, and which headers are read', async () => {
  const { paths, security } = (await call('GET', '/openapi.json')).body;
  const resume = paths['/v1/sessions/{id}/resume'].post;
  const memory = paths['/v1/memories'].post;
  expect([resume.requestBody.required, memory.requestBody.required]).toEqual([false, true]);
  expect([resume.responses[202].description, memory.responses[201].description]).toEqual(['Accepted', 'Created']);
  const { parameters } = paths['/v1/sessions/{id}/events'].get;
  expect(parameters).toContainEqual(expect.objectContaining({ in: 'header', name: 'last-event-id', required: false }));
  expect([security, paths['/healthz'].get.security]).toEqual([[{ key: [] }], []]);
  expect(paths['/v1/tools'].get.description).toContain('admin');
});

describe('the access log', () => {
  const lines = () => log.lines.filter(({ fields }) => 'durationMs' in fields);

  test('has one line for each request: who it was, what it was, and how it ended', async () => {
    const id = await session();
    const asked: [string, string, unknown, string | null, number][] = [
      ['GET', `/v1/sessions/${id}?secret=1`, undefined, '/v1/sessions/:id', 200],
      ['POST', '/v1/sessions', { secret: 1 }, '/v1/sessions', 422],
      ['GET', '/secret', undefined, null, 404],
      ['GET', '/v1/agents/%zz', undefined, null, 400],
    ];
    for (const [method, path, body, route, status] of asked) {
      const before = lines().length;
      const answer = await call(method, path, body);
      await expect.poll(() => lines().length).toBe(before + 1);
      const line = lines().at(-1);
      expect(line).toMatchObject({ level: 'debug', fields: { method, route, status } });
      expect(line?.fields.requestId).toBe(answer.headers.get('x-request-id'));
      expect(line?.fields.durationMs).toBeGreaterThanOrEqual(0);
    }
    expect(JSON.stringify(lines())).not.toMatch(/secret/);
  });

  test('has a stream when it is over, also one that its client left', async () => {
    const id = await session();
    const headers = { authorization: `Bearer ${keys[0].key}` };
    const before = lines().length;
    const left = await openStream(`${fixture.url}/v1/sessions/${id}/events`, { headers });
    expect(lines()).toHaveLength(before);
    left.destroy();
    const route = '/v1/sessions/:id/events';
    await expect.poll(() => lines().at(-1)?.fields).toMatchObject({ route, status: 200, method: 'GET' });
    const turn = await openStream(`${fixture.url}/v1/sessions/${id}/turns`, {
      method: 'POST',
      body: { text: 'x' },
      headers,
    });
    await turn.closed();
    const line = { route: '/v1/sessions/:id/turns', status: 200, method: 'POST' };
    await expect.poll(() => lines().at(-1)?.fields).toMatchObject(line);
    expect(lines()).toHaveLength(before + 2);
  });
});

test('readers of a long log, however many, do not hold up anybody else', async () => {
  const id = await session();
  const headers = { authorization: `Bearer ${keys[0].key}` };
  const [readerCount, pageCount, pageSize] = [20, 20, 100];
  let pages = 0;
  let rounds = 0;
  const countRound = () => {
    rounds += 1;
    if (pages < readerCount * pageCount) setImmediate(countRound);
  };
  const { bus } = fixture.adapters;
  const { replay } = bus;
  const delta = { type: 'turn.delta', turnId: 'turn_1', data: { step: 1, text: 'x' }, ts: 1 } as const;
  bus.replay = async function* (_key, after) {
    for (let prev = after; prev < pageCount * pageSize; prev += pageSize) {
      pages += 1;
      yield Array.from({ length: pageSize }, (_, n) => ({ ...delta, id: prev + n + 1, prev: prev + n }));
    }
  };
  setImmediate(countRound);
  const readers = await Promise.all(
    Array.from({ length: readerCount }, () =>
      openStream(`${fixture.url}/v1/sessions/${id}/events?after=0`, { headers }),
    ),
  );
  await Promise.all(readers.map((reader) => reader.until(({ ids }) => ids.length === pageCount * pageSize)));
  bus.replay = replay;
  // A round of the event loop for each page. A client that takes all that it is given would get its pages in one.
  expect(pages).toBe(readerCount * pageCount);
  expect(rounds).toBeGreaterThan(pages - readerCount);
  for (const reader of readers) reader.destroy();
});
