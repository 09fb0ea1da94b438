import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { completionChunk, sseFrame } from './completion-chunk.ts';
import type { ModelHandler } from './model-handler.ts';
import { type ModelServer, type ModelServerOptions, startModelServer } from './server.ts';

let server: ModelServer;
afterEach(() => server.close());

async function start(handler?: ModelHandler, options: ModelServerOptions = {}): Promise<void> {
  server = await startModelServer({ ...(handler === undefined ? {} : { handlers: { m: handler } }), ...options });
}

function post(body: Record<string, unknown> = {}, init: RequestInit = {}): Promise<Response> {
  const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body };
  return fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    ...init,
  });
}

type Delta = { content?: string; tool_calls?: object[] };
type Chunk = { choices: { delta: Delta; finish_reason: string | null }[]; usage?: unknown };
type Completion = { choices: { message: { content: string } }[]; usage: { total_tokens: number } };

/** The data of a stream's events, parsed, without `[DONE]`. */
async function events(response: Response): Promise<Chunk[]> {
  const text = await response.text();
  const data = text.split('\n\n').flatMap((frame) => (frame === '' ? [] : [frame.replace(/^data: /, '')]));
  return data.filter((json) => json !== '[DONE]').map((json) => JSON.parse(json));
}

const deltas = (chunks: readonly Chunk[]) => chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));

test('streams text, reasoning and calls, then the finish reason, the usage that was asked for, and [DONE]', async () => {
  await start(async (_call, reply) => {
    await reply.reasoning('hm');
    await reply.text('Hel');
    await reply.text('lo');
    await reply.toolCall({ name: 'f', arguments: { city: '杭州' }, id: 'c1' });
  });
  const response = await post({ stream: true, stream_options: { include_usage: true } });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const text = await response.clone().text();
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  const chunks = await events(response);
  expect(deltas(chunks)).toEqual([
    { role: 'assistant', reasoning_content: 'hm' },
    { content: 'Hel' },
    { content: 'lo' },
    { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"city":"杭州"}' } }] },
    {},
  ]);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
  expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
});

test('a stream carries no usage that was not asked for', async () => {
  await start((_call, reply) => reply.text('x'));
  const chunks = await events(await post({ stream: true }));
  expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false);
});

test('the same handler answers without a stream, with the pieces of calls joined', async () => {
  await start(async (_call, reply) => {
    await reply.text('a');
    await reply.text('b');
    await reply.toolCall({ name: 'f', arguments: '{"x"', id: 'one' });
    await reply.toolCall({ name: 'g', id: 'two' });
    await reply.toolCall({ index: 0, arguments: ':1}' });
    await reply.end({ finishReason: 'stop', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } });
  });
  const body = (await (await post()).json()) as Completion;
  expect(body.choices[0]).toEqual({
    index: 0,
    finish_reason: 'stop',
    message: {
      role: 'assistant',
      content: 'ab',
      tool_calls: [
        { id: 'one', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
        { id: 'two', type: 'function', function: { name: 'g' } },
      ],
    },
  });
  expect(body.usage.total_tokens).toBe(3);
});

test('pieces of calls go out as given: no index, null ids, same index, interleaved', async () => {
  await start(async (_call, reply) => {
    await reply.toolCall({ name: 'f', index: null, id: null, arguments: '' });
    await reply.toolCall({ name: 'g', index: 0, id: '' });
    await reply.toolCall({ index: 1, arguments: '{' });
    await reply.toolCall({ arguments: '}' });
  });
  const calls = deltas(await events(await post({ stream: true }))).flatMap((delta) => delta.tool_calls ?? []);
  expect(calls).toEqual([
    { id: null, type: 'function', function: { name: 'f', arguments: '' } },
    { index: 0, id: '', type: 'function', function: { name: 'g' } },
    { index: 1, function: { arguments: '{' } },
    { index: 1, function: { arguments: '}' } },
  ]);
});

test('raw bytes, chunks of any shape, one byte at a time', async () => {
  await start(async (_call, reply) => {
    await reply.raw(': a comment\r\n\r\n');
    await reply.rawBytes(sseFrame(completionChunk({ content: '你好🦀' })));
    reply.bytewise();
    await reply.chunk({ choices: [], prompt_filter_results: [] });
    await reply.fin();
  });
  const text = await (await post({ stream: true })).text();
  expect(text).toMatch(
    /^: a comment\r\n\r\ndata: .*你好🦀.*\n\ndata: \{"choices":\[\],"prompt_filter_results":\[\]\}\n\n$/s,
  );
  const request = await server.waitForRequest({ state: 'finished' });
  expect(request.chunksSent).toBe(request.bytesSent - Buffer.byteLength(': a comment\r\n\r\n') + 1);
});

test('another status, with headers and a body of its own or an OpenAI-shaped error', async () => {
  await start(({ attempt }, reply) =>
    attempt === 1 ? reply.status(429, { 'retry-after': '5' }) : reply.status(503, {}, 'down'),
  );
  const first = await post({ stream: true });
  expect([first.status, first.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await first.json()).toMatchObject({ error: { message: 'scripted status 429' } });
  const second = await post();
  expect([second.status, await second.text()]).toEqual([503, 'down']);
  expect(server.requests.map(({ status }) => status)).toEqual([429, 503]);
});

test('fin ends cleanly without a finish reason; what was sent comes before a cut', async () => {
  await start(async ({ attempt }, reply) => {
    await reply.text('half');
    if (attempt === 1) await reply.fin();
    else reply.cut();
  });
  const chunks = await events(await post({ stream: true }));
  expect(chunks).toHaveLength(1);
  expect(chunks[0]?.choices[0]).toMatchObject({ delta: { content: 'half' }, finish_reason: null });

  const reader = (await post({ stream: true })).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('half');
  await expect(reader?.read()).rejects.toThrow();
  expect((await server.waitForRequest({ nth: 2 })).state).toBe('cut');
});

test('a cut before the first byte', async () => {
  await start((_call, reply) => reply.cut());
  await expect(post({ stream: true })).rejects.toThrow();
  expect(await server.waitForRequest({ state: 'cut' })).toMatchObject({ bytesSent: 0, status: null });
});

test('a client that leaves before the first byte is seen, and ends the handler', async () => {
  let left = false;
  await start(async ({ signal }, reply) => {
    await reply.hang().finally(() => {
      left = signal.aborted;
    });
  });
  const leaving = new AbortController();
  const answer = post({ stream: true }, { signal: leaving.signal });
  const request = await server.waitForRequest();
  expect(request.state).toBe('received');
  const at = Date.now();
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await server.waitForRequest({ state: 'aborted' });
  expect(request).toMatchObject({ bytesSent: 0, chunksSent: 0, firstByteAt: null, handlerError: null });
  expect(request.abortedAt).toBeGreaterThanOrEqual(at);
  expect(left).toBe(true);
});

test('a client that leaves in mid-stream stops the sending; the record says how much went out', async () => {
  await start(async (_call, reply) => {
    for (;;) {
      await reply.text('token ');
      await reply.delay(5);
    }
  });
  const leaving = new AbortController();
  const response = await post({ stream: true }, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  const request = await server.waitForRequest({ model: 'm', state: 'aborted' });
  const { chunksSent, bytesSent } = request;
  expect(chunksSent).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(request).toMatchObject({ chunksSent, bytesSent, finishedAt: null });
});

test('operations that nobody awaits do no harm after the client has left', async () => {
  await start(async ({ signal }, reply) => {
    void reply.text('x');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    void reply.text('y');
    void reply.delay(1);
    void reply.rawBytes('z');
    void reply.hang();
  });
  const leaving = new AbortController();
  await post({ stream: true }, { signal: leaving.signal });
  leaving.abort();
  expect((await server.waitForRequest({ state: 'aborted' })).chunksSent).toBe(1);
});

test('a reader that does not read holds the handler up', async () => {
  let sent = 0;
  await start(async (_call, reply) => {
    for (; sent < 2000; sent += 1) await reply.text('x'.repeat(100_000));
  });
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await server.waitForRequest({ state: 'answering' });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(sent).toBeLessThan(500);
  socket.destroy();
  await server.waitForRequest({ state: 'aborted' });
});

test('a handler that throws is a 500, or a cut once bytes are out; the record keeps what it threw', async () => {
  await start(async ({ attempt }, reply) => {
    if (attempt === 2) await reply.text('x');
    throw new Error('bug');
  });
  const response = await post({ stream: true });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { message: 'handler failed: bug', code: 'handler_error' } });
  await expect(post({ stream: true }).then((second) => second.text())).rejects.toThrow();
  expect(server.requests.map(({ handlerError }) => String(handlerError))).toEqual(['Error: bug', 'Error: bug']);
});

test('strict: a broken conversation is refused before any handler and recorded; otherwise only recorded', async () => {
  let asked = 0;
  const handler: ModelHandler = (_call, reply) => {
    asked += 1;
    return reply.text('ok');
  };
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'tool', tool_call_id: 'x', content: 'y' },
  ];
  await start(handler, { strict: true });
  const refused = await post({ messages });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: 'invalid_conversation', message: expect.stringContaining("no tool call 'x'") },
  });
  expect(server.requests[0]?.violations).toHaveLength(1);
  expect(asked).toBe(0);
  await server.close();

  await start(handler);
  expect((await post({ messages })).status).toBe(200);
  expect(server.requests[0]?.violations).toHaveLength(1);
});

test('handlers by model name, set and removed while it runs; others get the fallback or 404', async () => {
  await start(undefined, { fallback: ({ body }, reply) => reply.text(`fallback for ${body.model}`) });
  const said = async (model: string) => {
    const body = (await (await post({ model })).json()) as Completion;
    return body.choices[0]?.message.content;
  };
  expect(await said('a')).toBe('fallback for a');
  server.setHandler('a', ({ attempt }, reply) => reply.text(`a, attempt ${attempt}`));
  expect(await said('a')).toBe('a, attempt 2');
  expect(await said('b')).toBe('fallback for b');
  server.removeHandler('a');
  expect(await said('a')).toBe('fallback for a');
  await server.close();

  await start((_call, reply) => reply.text('x'));
  const missing = await post({ model: 'other' });
  expect(missing.status).toBe(404);
  expect(await missing.json()).toMatchObject({ error: { code: 'model_not_found' } });
});

test.each([
  ['no JSON', '{"model'],
  ['no object', '[]'],
  ['no model', '{"messages":[]}'],
  ['no messages', '{"model":"m"}'],
  ['a message without a role', '{"model":"m","messages":[{}]}'],
  ['a tool without a function', '{"model":"m","messages":[],"tools":[{}]}'],
])('400 for a body with %s', async (_name, body) => {
  await start((_call, reply) => reply.text('x'));
  expect((await post({}, { body })).status).toBe(400);
  expect(server.requests).toEqual([]);
});

test('waitForRequest counts, filters, and rejects with what it saw', async () => {
  await start((_call, reply) => reply.text('x'));
  const third = server.waitForRequest({ nth: 2, where: ({ body }) => body.stream === true });
  await Promise.all([post({ stream: true }), post(), post({ stream: true })]);
  expect((await third).body.stream).toBe(true);
  await expect(server.waitForRequest({ model: 'n', timeoutMs: 10 })).rejects.toThrow(
    /request 1 of 'n' within 10 ms; seen: m/,
  );
});

test('keepRequests bounds the record', async () => {
  await start((_call, reply) => reply.text('x'), { keepRequests: 1 });
  for (const content of ['1', '2']) await post({ messages: [{ role: 'user', content }] });
  expect(server.requests.map(({ body }) => body.messages[0]?.content)).toEqual(['2']);
});

test('close cuts what is open and may be called again', async () => {
  await start((_call, reply) => reply.hang());
  const answer = post({ stream: true });
  const request = await server.waitForRequest();
  await server.close();
  await expect(answer).rejects.toThrow();
  expect(request).toMatchObject({ state: 'cut', abortedAt: null });
  await server.close();
});

test('lists models; unknown paths are 404', async () => {
  await start((_call, reply) => reply.text('x'), { models: ['extra'] });
  const list = await (await fetch(`${server.url}/models`)).json();
  expect(list).toMatchObject({ object: 'list', data: [{ id: 'm' }, { id: 'extra' }] });
  expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
});

test('embeddings as numbers and as base64; a failing embed is a 500', async () => {
  let broken = false;
  await start(undefined, {
    embed: () => {
      if (broken) throw new Error('no vectors today');
      return [0.5, -0.25];
    },
  });
  const ask = async (body: object) => {
    const response = await fetch(`${server.url}/embeddings`, {
      method: 'POST',
      body: JSON.stringify({ model: 'e', ...body }),
    });
    return { status: response.status, body: (await response.json()) as { data: { embedding: string }[] } };
  };
  const plain = await ask({ input: ['a', 'b'] });
  expect(plain.body.data).toEqual([0, 1].map((index) => ({ object: 'embedding', index, embedding: [0.5, -0.25] })));
  const packed = await ask({ input: 'a', encoding_format: 'base64' });
  expect([...new Float32Array(Uint8Array.from(Buffer.from(packed.body.data[0]!.embedding, 'base64')).buffer)]).toEqual([
    0.5, -0.25,
  ]);
  for (const input of ['', [], [1], undefined]) expect((await ask({ input })).status).toBe(400);
  broken = true;
  expect((await ask({ input: 'a' })).status).toBe(500);
});

test('rejects when the port is taken', async () => {
  await start();
  await expect(startModelServer({ port: server.port })).rejects.toThrow(/EADDRINUSE/);
});
