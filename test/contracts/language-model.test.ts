import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { completionChunk, sseFrame } from '@turnwire/demo-model/completion-chunk';
import type { ModelHandler } from '@turnwire/demo-model/model-handler';
import { type ModelServer, startModelServer } from '@turnwire/demo-model/server';
import { createOpenAiEmbedder } from '@turnwire/shared/adapters/openai/embedder';
import { createOpenAiLanguageModel } from '@turnwire/shared/adapters/openai/language-model';
import { createSystemClock } from '@turnwire/shared/adapters/system/clock';
import type { ModelSettings } from '@turnwire/shared/domain/agent';
import type { ModelChunk, ModelFailure, ModelMessage, ModelRequest } from '@turnwire/shared/ports/language-model';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const KEY = 'default.0123456789.key';
const OTHER_KEY = 'own-key-0123456789';
const env: Record<string, string> = { OTHER_API_KEY: OTHER_KEY, OPENAI_API_KEY: KEY };
const log = createRecordingLogger();

let server: ModelServer;
let other: ModelServer;
let scripts = 0;

beforeAll(async () => {
  server = await startModelServer();
  other = await startModelServer({ fallback: (_call, reply) => reply.text('other') });
});
afterAll(async () => {
  await server.close();
  await other.close();
});

function optionsFor(defaults: { baseUrl?: string; apiKey?: string | null } = {}) {
  const base = { baseUrl: server.url, apiKey: KEY, model: 'default-model' };
  return { defaults: { ...base, ...defaults }, env: (name: string) => env[name], log, clock: createSystemClock() };
}

function model(defaults: Parameters<typeof optionsFor>[0] = {}) {
  return createOpenAiLanguageModel(optionsFor(defaults));
}

const SETTINGS: ModelSettings = {
  name: null,
  baseUrl: null,
  apiKeyEnv: null,
  temperature: null,
  maxOutputTokens: null,
  toolCalls: 'native',
  reasoning: 'strip',
};

type RequestParts = Partial<Omit<ModelRequest, 'settings'>> & { settings?: Partial<ModelSettings> };

function request({ settings, ...rest }: RequestParts = {}): ModelRequest {
  const messages: ModelMessage[] = [{ role: 'user', content: 'Hello' }];
  return { messages, tools: [], responseFormat: null, ...rest, settings: { ...SETTINGS, ...settings } };
}

async function collect(
  parts: RequestParts = {},
  signal: AbortSignal = new AbortController().signal,
  adapter = model(),
): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  for await (const chunk of adapter.stream(request(parts), signal)) chunks.push(chunk);
  return chunks;
}

/** Answers from a handler of its own, which other tests' requests do not reach. */
async function answered(handler: ModelHandler, parts: RequestParts = {}): Promise<ModelChunk[]> {
  return collect({ ...parts, settings: { name: script(handler), ...parts.settings } });
}

function script(handler: ModelHandler): string {
  scripts += 1;
  server.setHandler(`script-${scripts}`, handler);
  return `script-${scripts}`;
}

const textIn = (chunks: readonly ModelChunk[]) => chunks.map((one) => (one.type === 'text' ? one.text : '')).join('');
const callsIn = (chunks: readonly ModelChunk[]) => chunks.filter((one) => one.type === 'tool_call');
const usageIn = (chunks: readonly ModelChunk[]) => chunks.filter((one) => one.type === 'usage');

function failureIn(chunks: readonly ModelChunk[]): ModelFailure {
  const last = chunks.at(-1);
  if (last?.type !== 'error') throw new Error(`no error at the end of ${JSON.stringify(chunks)}`);
  expect(chunks.filter(({ type }) => type === 'end' || type === 'error')).toHaveLength(1);
  return last.error;
}

describe('a stream', () => {
  test('gives text piece by piece, then usage, then the finish reason', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
    const chunks = await answered(async (_call, reply) => {
      await reply.text('Hel');
      await reply.text('lo');
      await reply.end({ usage });
    });
    expect(textIn(chunks)).toBe('Hello');
    expect(chunks.slice(-2)).toEqual([
      { type: 'usage', usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 } },
      { type: 'end', finishReason: 'stop' },
    ]);
  });

  test('gives the first piece while the rest is still to come', async () => {
    const gate = Promise.withResolvers<void>();
    const name = script(async (_call, reply) => {
      await reply.text('first');
      await gate.promise;
      await reply.text(' second');
    });
    const stream = model().stream(request({ settings: { name } }), new AbortController().signal);
    const iterator = stream[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual({ type: 'text', text: 'first' });
    gate.resolve();
    expect((await iterator.next()).value).toEqual({ type: 'text', text: ' second' });
    await iterator.return?.();
  });

  test('reads any text cut into single bytes', async () => {
    const text = '你好🦀 – "quoted" \\ \u2028 é';
    const chunks = await answered(async (_call, reply) => {
      reply.bytewise();
      await reply.text(text);
      await reply.toolCall({ name: 'weather', arguments: { city: '杭州' } });
    });
    expect(textIn(chunks)).toBe(text);
    expect(callsIn(chunks).map((call) => call.arguments)).toEqual(['{"city":"杭州"}']);
  });

  test('reads the same whatever the frames look like and however they are cut', async () => {
    const newline = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), { maxLength: 5 }),
        newline,
        fc.constantFrom('data:', 'data: '),
        fc.constantFrom('', ': keep-alive', 'data:', 'id: 7', 'retry: 10', 'event: message'),
        fc.array(fc.nat(400), { maxLength: 6 }),
        async (pieces, eol, field, between, cuts) => {
          const payloads = pieces.map((piece) => JSON.stringify(completionChunk({ content: piece })));
          payloads.push(JSON.stringify(completionChunk({}, { finishReason: 'stop' })), '[DONE]');
          const frames = payloads.map((payload) => `${between}${eol}${eol}${field}${payload}${eol}${eol}`).join('');
          const bytes = Buffer.from(frames);
          const edges = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((a, b) => a - b);
          const chunks = await answered(async (_call, reply) => {
            for (const [index, edge] of edges.entries()) {
              await reply.raw(bytes.subarray(edge, edges[index + 1] ?? bytes.length));
              await new Promise((resolve) => setImmediate(resolve));
            }
            await reply.fin();
          });
          expect(textIn(chunks)).toBe(pieces.join(''));
          expect(chunks.at(-1)).toEqual({ type: 'end', finishReason: 'stop' });
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each<[string, object[], object]>([
    ['before the finish', [completionChunk({ content: 'a' }, { usage: usage(1) })], { outputTokens: 1 }],
    ['on the finish chunk', [completionChunk({}, { finishReason: 'stop', usage: usage(2) })], { outputTokens: 2 }],
    ['after it, without choices', [{ choices: [], usage: usage(3) }], { outputTokens: 3 }],
    [
      'growing on every chunk',
      [
        { choices: [], usage: usage(1) },
        { choices: [], usage: usage(4) },
      ],
      { outputTokens: 4 },
    ],
  ])('counts usage once: %s', async (_name, frames, expected) => {
    const chunks = await answered(async (_call, reply) => {
      await reply.raw(sseFrame({ choices: [], prompt_filter_results: [] }));
      await reply.raw(sseFrame(completionChunk({ content: 'x' }, { usage: null })));
      if (!JSON.stringify(frames).includes('stop'))
        await reply.raw(sseFrame(completionChunk({}, { finishReason: 'stop' })));
      for (const frame of frames) await reply.raw(sseFrame(frame));
      await reply.raw('data: [DONE]\n\n');
      await reply.fin();
    });
    expect(usageIn(chunks)).toEqual([{ type: 'usage', usage: expect.objectContaining(expected) }]);
    expect(chunks.at(-1)).toEqual({ type: 'end', finishReason: 'stop' });
  });

  test('takes content as parts, as null, and a refusal', async () => {
    const chunks = await answered(async (_call, reply) => {
      await reply.chunk(completionChunk({ role: 'assistant', content: null }));
      await reply.chunk(
        completionChunk({
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
      );
      await reply.chunk(completionChunk({ refusal: 'c' }));
    });
    expect(textIn(chunks)).toBe('abc');
  });

  test('keeps reasoning apart from text, under both of its names', async () => {
    const chunks = await answered(async (_call, reply) => {
      await reply.chunk(completionChunk({ reasoning_content: 'one' }));
      await reply.chunk(completionChunk({ reasoning: 'two' }));
      await reply.chunk(completionChunk({ content: 'text', reasoning: null }));
    });
    expect(chunks.slice(0, 3)).toEqual([
      { type: 'reasoning', text: 'one' },
      { type: 'reasoning', text: 'two' },
      { type: 'text', text: 'text' },
    ]);
  });

  test('gives fragments of tool calls as they were sent', async () => {
    const chunks = await answered(async (_call, reply) => {
      await reply.toolCall({ index: 0, id: 'a', name: 'first', arguments: '{"x"' });
      await reply.toolCall({ index: 1, id: '', name: 'second', arguments: '' });
      await reply.toolCall({ index: 0, arguments: ':1}' });
      await reply.chunk(
        completionChunk({ tool_calls: [{ id: null, function: { name: 'third', arguments: { y: 2 } } }] }),
      );
      await reply.end({ finishReason: 'stop' });
    });
    expect(callsIn(chunks)).toEqual([
      { type: 'tool_call', index: 0, id: 'a', name: 'first', arguments: '{"x"' },
      { type: 'tool_call', index: 1, id: null, name: 'second', arguments: '' },
      { type: 'tool_call', index: 0, id: null, name: null, arguments: ':1}' },
      { type: 'tool_call', index: null, id: null, name: 'third', arguments: '{"y":2}' },
    ]);
    expect(chunks.at(-1)).toEqual({ type: 'end', finishReason: 'stop' });
  });

  test('that was finished needs no [DONE], no clean end, and no end at all', async () => {
    const finish = sseFrame(completionChunk({ content: 'x' }, { finishReason: 'length' }));
    const endings: ModelHandler[] = [
      async (_call, reply) => reply.raw(finish).then(() => reply.fin()),
      async (_call, reply) => reply.raw(finish).then(() => reply.cut()),
      async (_call, reply) => reply.raw(finish).then(() => reply.hang()),
      async (_call, reply) => reply.raw(`${finish}data: {broken\n\n`).then(() => reply.fin()),
      async (_call, reply) => reply.raw(finish.trimEnd()).then(() => reply.fin()),
    ];
    const all = await Promise.all(endings.map((handler) => answered(handler)));
    for (const chunks of all) {
      expect(chunks).toEqual([
        { type: 'text', text: 'x' },
        { type: 'end', finishReason: 'length' },
      ]);
    }
  });

  test('hands its connection back, so that the next request needs no new one', async () => {
    const ports = new Set<number | undefined>();
    const http = createServer((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${sseFrame(completionChunk({ content: 'x' }, { finishReason: 'stop' }))}data: [DONE]\n\n`);
      setTimeout(() => response.end(), 20); // the end of the body comes after all that counts
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const adapter = model({ baseUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1` });
    for (let turn = 0; turn < 3; turn += 1) {
      await collect({}, new AbortController().signal, adapter);
      await sleep(60);
    }
    expect(ports.size).toBe(1);
    http.closeAllConnections();
    http.close();
  });
});

function usage(completion: number) {
  return { prompt_tokens: 5, completion_tokens: completion, total_tokens: 5 + completion };
}

describe('a failure', () => {
  test.each<[number, ModelFailure['code'], boolean]>([
    [400, 'model_error', false],
    [401, 'model_auth', false],
    [402, 'model_error', false],
    [403, 'model_auth', false],
    [404, 'model_error', false],
    [408, 'model_error', true],
    [409, 'model_error', true],
    [422, 'model_error', false],
    [429, 'model_overloaded', true],
    [500, 'model_error', true],
    [502, 'model_error', true],
    [503, 'model_overloaded', true],
    [529, 'model_overloaded', true],
  ])('with status %i is %s, retried: %s', async (status, code, retry) => {
    const name = script((_call, reply) => reply.status(status));
    const failure = failureIn(await collect({ settings: { name } }));
    expect(failure).toMatchObject({ code, retry, retryAfterMs: null });
    expect(failure.message).toContain(String(status));
    expect(server.requests.filter((one) => one.model === name)).toHaveLength(1); // the engine retries, nobody else
  });

  test.each<[Record<string, string>, number]>([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '9', 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  ])('says how long to wait: %o', async (headers, expected) => {
    const failure = failureIn(await answered((_call, reply) => reply.status(429, headers)));
    expect(failure.retryAfterMs).toBe(expected);
  });

  test('says how long to wait where a date is given', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const failure = failureIn(await answered((_call, reply) => reply.status(503, { 'retry-after': date })));
    expect(failure.retryAfterMs).toBeGreaterThan(55_000);
    expect(failure.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test.each([
    { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' },
    { message: 'prompt is too long: 210000 tokens > 200000 maximum', type: 'invalid_request_error' },
    { message: 'the request exceeds the available context size', type: 'exceed_context_size_error' },
    { message: 'The input token count (1048577) exceeds the maximum number of tokens allowed' },
  ])('of a conversation that is too long: $message', async (error) => {
    const failure = failureIn(await answered((_call, reply) => reply.status(400, {}, { error })));
    expect(failure).toMatchObject({ code: 'context_overflow', retry: false });
  });

  test('that waiting cannot mend is not retried', async () => {
    const quota = { error: { message: 'You exceeded your quota.', code: 'insufficient_quota' } };
    const spent = failureIn(await answered((_call, reply) => reply.status(429, {}, quota)));
    expect(spent).toMatchObject({ code: 'model_overloaded', retry: false });
    const told = failureIn(await answered((_call, reply) => reply.status(500, { 'x-should-retry': 'false' })));
    expect(told.retry).toBe(false);
  });

  test.each<[unknown, ModelFailure['code'], boolean]>([
    [{ error: { message: 'Overloaded', type: 'overloaded_error' } }, 'model_overloaded', true],
    [{ error: { message: 'Slow down', type: 'requests', code: 'rate_limit_exceeded' } }, 'model_overloaded', true],
    [{ error: { message: 'Provider returned error', code: 502 } }, 'model_error', true],
    [{ error: { message: 'No', code: '401' } }, 'model_auth', false],
    [{ error: { message: 'Bad', type: 'invalid_request_error', code: null } }, 'model_error', false],
    [{ error: { message: 'too long', code: 'context_length_exceeded' } }, 'context_overflow', false],
    [{ error: 'something broke' }, 'model_error', true],
    [{ choices: [{ index: 0, delta: {}, finish_reason: 'error' }] }, 'model_error', true],
  ])('inside the stream: %j', async (frame, code, retry) => {
    const chunks = await answered(async (_call, reply) => {
      await reply.text('Hel');
      await reply.chunk(frame);
      await reply.text('never seen');
    });
    expect(textIn(chunks)).toBe('Hel');
    expect(failureIn(chunks)).toMatchObject({ code, retry });
  });

  test('by an event named error', async () => {
    const chunks = await answered(async (_call, reply) => {
      await reply.raw('event: error\ndata: {"message":"upstream died","code":503}\n\n');
      await reply.fin();
    });
    expect(failureIn(chunks)).toMatchObject({ code: 'model_overloaded', retry: true });
    expect(failureIn(chunks).message).toContain('upstream died');
  });

  test.each<[string, ModelHandler]>([
    ['ends cleanly in the middle', (_call, reply) => reply.text('Hel').then(() => reply.fin())],
    ['says [DONE] without a finish', (_call, reply) => reply.raw('data: [DONE]\n\n').then(() => reply.fin())],
    ['is cut', (_call, reply) => reply.text('Hel').then(() => reply.cut())],
    ['is cut before the first byte', (_call, reply) => reply.cut()],
    ['is empty', (_call, reply) => reply.fin()],
    ['is no JSON', (_call, reply) => reply.raw('data: {"choices":\n\n').then(() => reply.fin())],
    [
      'ends in half a tool call',
      (_call, reply) => reply.toolCall({ name: 'a', arguments: '{"x' }).then(() => reply.fin()),
    ],
  ])('of a stream that %s can be retried', async (_name, handler) => {
    const failure = failureIn(await answered(handler));
    expect(failure).toMatchObject({ code: 'model_error', retry: true });
  });

  test('to connect can be retried, and names no address', async () => {
    const closed = await startModelServer();
    await closed.close();
    const adapter = model({ baseUrl: `${closed.url}?key=secret-in-the-url` });
    const failure = failureIn(await collect({}, new AbortController().signal, adapter));
    expect(failure).toMatchObject({ code: 'model_error', retry: true });
    expect(failure.message).toContain('ECONNREFUSED');
    expect(failure.message).not.toContain('secret');
  });

  test('never tells a key, whatever the provider says', async () => {
    const leaks = [401, 403, 400, 500].map((status) => async () => {
      const error = {
        message: `Incorrect API key provided: ${KEY}.\nAuthorization: Bearer ${KEY} sk-proj-abcdef123456`,
      };
      return answered((_call, reply) => reply.status(status, {}, { error }));
    });
    const inStream = () =>
      answered((_call, reply) => reply.chunk({ error: { message: `key ${KEY} is bad`, code: 'x' } }));
    const badHeader = () => collect({}, new AbortController().signal, model({ apiKey: 'line\nbreak-secret' }));
    for (const leak of [...leaks, inStream, badHeader]) {
      const { message } = failureIn(await leak());
      expect(message).not.toMatch(/0123456789|abcdef123456|secret/);
      expect(message).not.toContain('\n');
    }
    expect(log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(log.lines)).not.toMatch(/0123456789|abcdef123456|secret/);
  });

  test('is cut short where the provider is long-winded', async () => {
    const failure = failureIn(
      await answered((_call, reply) => reply.status(400, {}, { error: { message: 'x'.repeat(5000) } })),
    );
    expect(failure.message.length).toBeLessThan(400);
  });
});

describe('an abort', () => {
  test.each<[string, ModelHandler]>([
    ['before the first byte', (_call, reply) => reply.hang()],
    ['in the middle of the stream', (_call, reply) => reply.text('Hel').then(() => reply.hang())],
  ])('%s closes the socket within milliseconds and tells nothing', async (_name, handler) => {
    await collect({ settings: { name: script((_call, reply) => reply.text('warm')) } });
    const name = script(handler);
    const abort = new AbortController();
    const collected = collect({ settings: { name } }, abort.signal);
    await server.waitForRequest({ model: name });
    await sleep(50);
    const at = Date.now();
    abort.abort();
    const chunks = await collected;
    const { abortedAt } = await server.waitForRequest({ model: name, state: 'aborted' });
    expect((abortedAt ?? Number.POSITIVE_INFINITY) - at).toBeLessThan(250);
    expect(chunks.filter(({ type }) => type !== 'text')).toEqual([]);
  });

  test('before the call makes no request', async () => {
    const name = script((_call, reply) => reply.text('x'));
    expect(await collect({ settings: { name } }, AbortSignal.abort())).toEqual([]);
    expect(server.requests.some((one) => one.model === name)).toBe(false);
  });

  test('is what a reader does who leaves', async () => {
    const name = script((_call, reply) => reply.text('Hel').then(() => reply.hang()));
    for await (const _chunk of model().stream(request({ settings: { name } }), new AbortController().signal)) break;
    await server.waitForRequest({ model: name, state: 'aborted' });
  });

  test('leaves nothing on a signal that outlives its requests', async () => {
    const abort = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      return addEventListener.apply(abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      return removeEventListener.apply(abort.signal, args);
    };
    const name = script((_call, reply) => reply.text('x'));
    for (let step = 0; step < 3; step += 1) await collect({ settings: { name } }, abort.signal);
    await sleep(20);
    expect(listeners).toBe(0);
  });
});

describe('a request', () => {
  async function sent(parts: RequestParts = {}) {
    const name = script((_call, reply) => reply.text('ok'));
    await collect({ ...parts, settings: { name, ...parts.settings } });
    const found = server.requests.find((one) => one.model === name);
    if (found === undefined) throw new Error('no request came');
    return found;
  }

  test('asks for a stream with usage, and nothing that was not set', async () => {
    const { body } = await sent();
    expect(body).toEqual({
      model: body.model,
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('carries the settings, tools and response format', async () => {
    const parameters = { type: 'object', properties: { x: { type: 'number' } } };
    const { body } = await sent({
      settings: { temperature: 0.2, maxOutputTokens: 100 },
      tools: [{ name: 'add', description: 'Adds.', parameters }],
      responseFormat: { name: 'memory_extraction', schema: parameters },
    });
    expect(body).toMatchObject({
      temperature: 0.2,
      max_tokens: 100,
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters } }],
      response_format: { type: 'json_schema', json_schema: { name: 'memory_extraction', schema: parameters } },
    });
  });

  test('keeps a conversation with tools valid for a strict provider', async () => {
    const { violations, body } = await sent({
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Read.' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'read', arguments: { a: [1] } }] },
        { role: 'tool', toolCallId: 'c1', content: 'done' },
        { role: 'assistant', content: 'Read it.', toolCalls: [] },
        { role: 'user', content: 'Thanks.' },
      ],
      tools: [{ name: 'read', description: 'Reads.', parameters: { type: 'object' } }],
    });
    expect(violations).toEqual([]);
    expect(body.messages[2]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"a":[1]}' } }],
    });
  });

  test('uses the default model and key where the agent names none', async () => {
    server.setHandler('default-model', (_call, reply) => reply.text('ok'));
    await collect();
    const found = server.requests.findLast((one) => one.model === 'default-model');
    expect(found?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test('to an address of the agent carries only the key that the agent names', async () => {
    const baseUrl = `${other.url}/`;
    const keys: (string | undefined)[] = [];
    other.setHandler('m', ({ headers }, reply) => {
      keys.push(headers.authorization);
      return reply.text('ok');
    });
    await collect({ settings: { name: 'm', baseUrl } });
    await collect({ settings: { name: 'm', baseUrl, apiKeyEnv: 'OTHER_API_KEY' } });
    expect(keys).toEqual([undefined, `Bearer ${OTHER_KEY}`]);
    const chunks = await collect({ settings: { name: 'm', baseUrl, apiKeyEnv: 'OPENAI_API_KEY' } });
    expect(failureIn(chunks)).toMatchObject({ code: 'model_auth', retry: false });
    expect(keys).toHaveLength(2);
  });

  test('to an address of the agent carries nothing else that was meant for the default one', async () => {
    const variables = { OPENAI_ORG_ID: 'org-private', OPENAI_CUSTOM_HEADERS: 'X-Gateway-Key: private\nX-Two: private' };
    Object.assign(process.env, variables);
    Object.assign(env, variables);
    try {
      await collect({ settings: { name: 'm', baseUrl: other.url } }, new AbortController().signal, model());
      expect(JSON.stringify(other.requests.at(-1)?.headers)).not.toContain('private');
    } finally {
      for (const name of Object.keys(variables)) {
        delete process.env[name];
        delete env[name];
      }
    }
  });

  test('is not made where the key that the agent names is not there', async () => {
    const failure = failureIn(await collect({ settings: { apiKeyEnv: 'MISSING_API_KEY' } }));
    expect(failure).toMatchObject({ code: 'model_auth', retry: false });
    expect(failure.message).toContain('MISSING_API_KEY');
  });
});

describe('the embedder', () => {
  const signal = new AbortController().signal;
  const embedderOn = (baseUrl: string) => createOpenAiEmbedder(optionsFor({ baseUrl }));

  test('gives one unit vector per text, in order, over as many requests as it takes', async () => {
    const texts = Array.from({ length: 600 }, (_, index) => `text number ${index}`);
    const long = await startModelServer({ embed: (text) => [text.length, Number(text.split(' ').at(-1)), 3] });
    const embedder = embedderOn(long.url);
    const vectors = await embedder.embed(texts, signal);
    expect(vectors).toHaveLength(600);
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    const [alone] = await embedder.embed(['text number 599'], signal);
    expect(vectors[599]).toEqual(alone);
    expect(vectors[0]).not.toEqual(alone);
    expect(await embedder.embed([], signal)).toEqual([]);
    await long.close();
  });

  test('throws model_error without secrets, and follows its signal', async () => {
    const broken = await startModelServer({
      embed: () => {
        throw new Error(`no vectors for ${KEY}`);
      },
    });
    await expect(embedderOn(broken.url).embed(['a'], signal)).rejects.toMatchObject({
      code: 'model_error',
      retry: true,
      message: expect.not.stringContaining(KEY),
    });
    await expect(embedderOn(broken.url).embed(['a'], AbortSignal.abort())).rejects.toMatchObject({
      name: 'AbortError',
    });
    await broken.close();
  });
});
