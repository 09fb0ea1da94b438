import { afterEach, expect, test } from 'vitest';
import { createDemoHandler, startDemoModel } from './demo.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer;
afterEach(() => server.close());

const ask = (body: object) =>
  fetch(`${server.url}/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'any', ...body }) });
const user = { role: 'user', content: 'hi' };

test('streams at its pace, in several pieces, with usage when asked', async () => {
  server = await startDemoModel({ pace: 2 });
  const start = performance.now();
  const text = await (await ask({ stream: true, stream_options: { include_usage: true }, messages: [user] })).text();
  const pieces = text.match(/"content":/g)?.length ?? 0;
  expect(pieces).toBeGreaterThan(40);
  expect(performance.now() - start).toBeGreaterThanOrEqual(pieces);
  expect(text).toMatch(/"choices":\[\],"usage":\{"prompt_tokens":\d+.*\[DONE\]\n\n$/s);
  expect(server.requests).toEqual([]);
});

test('a round with a tool is a valid conversation for a strict server', async () => {
  server = await startModelServer({ strict: true, fallback: createDemoHandler(0) });
  const tools = ['get_weather', 'calculator'].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  }));
  const messages: object[] = [{ role: 'user', content: '杭州天气怎么样\uff0c3+5*2 等于多少' }];
  const first = (await (await ask({ tools, messages })).json()) as {
    choices: { message: { tool_calls: { id: string }[] }; finish_reason: string }[];
  };
  const choice = first.choices[0];
  expect(choice?.finish_reason).toBe('tool_calls');
  expect(choice?.message.tool_calls).toHaveLength(2);
  messages.push(choice?.message ?? {});
  for (const { id } of choice?.message.tool_calls ?? [])
    messages.push({ role: 'tool', tool_call_id: id, content: '13' });
  const second = await (await ask({ tools, messages })).text();
  expect(second).toContain('3+5*2 = 13');
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200]);
});

test('answers an extraction as JSON, streamed in one piece or whole', async () => {
  server = await startDemoModel({ pace: 0 });
  const body = {
    messages: [{ role: 'user', content: 'My name is Ada.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'memory_extraction', schema: {} } },
  };
  const whole = (await (await ask(body)).json()) as { choices: { message: { content: string } }[] };
  expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toMatchObject({
    memories: [{ slot: 'name', value: 'Ada' }],
  });
  expect(await (await ask({ ...body, stream: true })).text()).toContain('\\"value\\":\\"Ada\\"');
});

test('lists itself by name', async () => {
  server = await startDemoModel();
  expect(await (await fetch(`${server.url}/models`)).text()).toContain('turnwire-demo');
});
