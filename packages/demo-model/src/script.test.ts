import { afterEach, expect, test } from 'vitest';
import { toolOutcomes } from './chat-request.ts';
import { byConversation, type Step, scripted } from './script.ts';
import { type ModelServer, startModelServer } from './server.ts';
import { monotonicNow, readStamps, stampedTokens } from './stamped-tokens.ts';

let server: ModelServer;
afterEach(() => server.close());

async function ask(messages: object[] = [{ role: 'user', content: 'hi' }], stream = false): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', stream, messages }),
  });
}

type Choice = {
  finish_reason: string;
  message: { content: string | null; tool_calls?: object[] };
};

async function choice(response: Response): Promise<Choice> {
  const body = (await response.json()) as { choices: Choice[] };
  return body.choices[0]!;
}

test('scripted gives the n-th request the n-th step, then refuses', async () => {
  server = await startModelServer({
    handlers: {
      m: scripted([
        'one',
        { reasoning: 'hm', text: ['t', 'wo'], toolCalls: [{ name: 'f', arguments: {} }], finishReason: 'stop' },
        { status: 503, headers: { 'retry-after': '1' } },
        (_call, reply) => reply.text('four'),
      ]),
    },
  });
  expect((await choice(await ask())).message.content).toBe('one');
  expect(await choice(await ask())).toMatchObject({
    finish_reason: 'stop',
    message: { content: 'two', reasoning_content: 'hm', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
  });
  expect((await ask()).status).toBe(503);
  expect((await choice(await ask())).message.content).toBe('four');
  const fifth = await ask();
  expect(fifth.status).toBe(400);
  expect(await fifth.json()).toMatchObject({ error: { code: 'script_exhausted' } });
});

test('a step may wait, keep a pace, and end in other ways', async () => {
  const steps: Step[] = [
    { delayMs: 40, paceMs: 20, text: ['a', 'b', 'c'] },
    { text: 'half', ending: 'fin' },
    { text: 'half', ending: 'cut' },
    { text: 'half', ending: 'hang' },
  ];
  server = await startModelServer({ handlers: { m: scripted(steps) } });
  const start = performance.now();
  expect(await (await ask(undefined, true)).text()).toContain('[DONE]');
  expect(performance.now() - start).toBeGreaterThanOrEqual(75);
  expect(await (await ask(undefined, true)).text()).not.toContain('[DONE]');
  await expect((await ask(undefined, true)).text()).rejects.toThrow();
  const hanging = await ask(undefined, true);
  expect(server.requests[3]?.state).toBe('answering');
  await hanging.body?.cancel();
  await server.waitForRequest({ state: 'aborted' });
});

test('byConversation answers by the messages, however often it is asked', async () => {
  server = await startModelServer({
    strict: true,
    handlers: {
      m: byConversation((messages) => {
        const [outcome] = toolOutcomes(messages);
        if (outcome === undefined) return { toolCalls: [{ name: 'add', id: 'c', arguments: { a: 1 } }] };
        return `${outcome.name}(${outcome.arguments}) is ${outcome.content}`;
      }),
    },
  });
  const user = { role: 'user', content: 'add' };
  const first = (await choice(await ask([user]))).message;
  expect((await choice(await ask([user]))).message).toEqual(first);
  const messages = [user, first, { role: 'tool', tool_call_id: 'c', content: '3' }];
  expect((await choice(await ask(messages))).message.content).toBe('add({"a":1}) is 3');
  expect(
    (await choice(await ask([...messages, { role: 'assistant', content: 'ok' }, user]))).message.tool_calls,
  ).toHaveLength(1);
});

test('stamped tokens carry their send times, none of them before its time', async () => {
  server = await startModelServer({ handlers: { m: stampedTokens({ count: 20, intervalMs: 10, firstDelayMs: 30 }) } });
  const start = monotonicNow();
  const { message } = await choice(await ask());
  const stamps = readStamps(message.content ?? '');
  expect(stamps).toHaveLength(20);
  expect(stamps[0]! - start).toBeGreaterThanOrEqual(28);
  // Against the start, not the first token: that one may come late on a busy machine, and the later ones make up for it.
  expect(stamps[19]! - start).toBeGreaterThanOrEqual(28 + 19 * 10);
  expect(stamps.toSorted((one, other) => one - other)).toEqual(stamps);
});
