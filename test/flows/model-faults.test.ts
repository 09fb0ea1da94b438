import { completionChunk, errorBody } from '@turnwire/demo-model/completion-chunk';
import { playStep, type Step, scripted } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import type { AgentInput } from '../stack/api.ts';
import type { EventStream } from '../stack/event-stream.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';
import { freePort } from '../stack/server-process.ts';

const KEY = 'sk-flow-0123456789';

describe.each(profiles())('$name: a model', (profile) => {
  const stack = useStack(profile);

  async function ask(steps: readonly Step[], settings: AgentInput = {}) {
    const scene = await stack.scene(scripted(steps), settings);
    const stream = await (await scene.say('Go.')).over(20_000);
    const turn = await stack.api.turn(stream.events[0]?.data.turnId);
    return { scene, stream, turn, messages: await stack.api.messages(scene.sessionId) };
  }

  const failed = (stream: EventStream) => stream.events.at(-1)?.data.code;

  test.concurrent.each([
    [400, 'model_error'],
    [401, 'model_auth'],
    [403, 'model_auth'],
    [404, 'model_error'],
    [422, 'model_error'],
  ])('that answers %i is not asked again', async (status, code) => {
    const body = errorBody(`No, ${KEY} is not good.`);
    const { scene, stream, turn } = await ask([{ status, body }, 'Never asked for.']);
    expect(scene.requests).toHaveLength(1);
    expect(stream.events.at(-1)).toMatchObject({ type: 'error', data: { code } });
    expect(turn).toMatchObject({ status: 'FAILED', error: { code } });
    expect(JSON.stringify([stream.events, turn])).not.toContain(KEY);
    expect((await stack.api.session(scene.sessionId)).state).toBe('IDLE');
    // A failure is the turn's alone.
    expect((await scene.ask('And now?')).text).toBe('Never asked for.');
  });

  test.concurrent.each([408, 409, 429, 500, 502, 503])('that answers %i is asked again', async (status) => {
    const { scene, stream, turn } = await ask([{ status }, { status }, 'There.']);
    expect(scene.requests).toHaveLength(3);
    expect(stream.text).toBe('There.');
    // Nothing had been shown that would have to be taken back.
    expect(stream.types).not.toContain('turn.reset');
    expect(turn).toMatchObject({ status: 'COMPLETED', attempt: 1, steps: 1 });
    const gaps = scene.requests.slice(1).map(({ at }, i) => at - (scene.requests[i]?.at ?? 0));
    expect(gaps[0]).toBeGreaterThanOrEqual(245);
    expect(gaps[1]).toBeGreaterThanOrEqual(495);
  });

  test.concurrent.each([
    ['retry-after', () => '1'],
    ['retry-after-ms', () => '1100'],
    ['retry-after', () => new Date(Date.now() + 2500).toUTCString()],
  ])('that names a time in %s is given it', async (name, value) => {
    const { scene, stream } = await ask([{ status: 429, headers: { [name]: value() } }, 'There.']);
    expect(stream.text).toBe('There.');
    const [first, second] = scene.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1000);
  });

  test.concurrent.each([
    [500, 'model_error'],
    [503, 'model_overloaded'],
  ])('that answers %i for ever fails the turn in the end', async (status, code) => {
    const { scene, stream } = await ask(Array.from({ length: 9 }, () => ({ status })));
    expect(failed(stream)).toBe(code);
    expect(scene.requests.length).toBeGreaterThanOrEqual(3);
    expect(scene.requests.length).toBeLessThanOrEqual(6);
  });

  test.concurrent('whose conversation is too long is told apart', async () => {
    const body = errorBody("This model's maximum context length is 8192 tokens.", 'context_length_exceeded');
    const { stream } = await ask([{ status: 400, body }]);
    expect(failed(stream)).toBe('context_overflow');
  });

  test.concurrent.each(['cut', 'fin'] as const)('that breaks off (%s) takes its text back', async (ending) => {
    const { scene, stream, messages, turn } = await ask([
      { text: ['Hel', 'lo wor'], ending },
      { text: ['Hello ', 'you.'] },
    ]);
    expect(stream.types.filter((type) => !type.startsWith('turn.q'))).toEqual([
      'turn.started',
      'step.started',
      'turn.delta',
      'turn.delta',
      'turn.reset',
      'turn.delta',
      'turn.delta',
      'done',
    ]);
    expect(stream.of('turn.reset')[0]?.data.step).toBe(1);
    expect(stream.text).toBe('Hello you.');
    expect(messages.map(({ content }) => content)).toEqual(['Go.', 'Hello you.']);
    expect(turn.steps).toBe(1);
    // The broken answer is no part of what the model reads.
    expect(scene.requests[1]?.body.messages).toEqual(scene.requests[0]?.body.messages);
  });

  test.concurrent('that breaks off in the second step takes back that step alone', async () => {
    const tool = await stack.tool(() => 'seen');
    const { stream, messages } = await ask(
      [{ text: 'Let me look. ', toolCalls: [{ name: tool }] }, { text: 'I s', ending: 'cut' }, 'I see.'],
      { tools: [tool] },
    );
    expect(stream.of('turn.reset').map(({ data }) => data.step)).toEqual([2]);
    expect(stream.text).toBe('Let me look. I see.');
    expect(messages.map(({ content }) => content)).toEqual(['Go.', 'Let me look. ', '"seen"', 'I see.']);
    expect(stack.runsOf(tool)).toHaveLength(1);
  });

  test.concurrent.each(['cut', 'fin'] as const)(
    'that breaks off (%s) in half a tool call calls no tool',
    async (ending) => {
      const tool = await stack.tool(() => 'called');
      const half = { toolCalls: [{ name: tool, arguments: '{"to": "an' }], ending };
      const { scene, stream } = await ask([half, 'Rather not.'], { tools: [tool] });
      expect(stream.text).toBe('Rather not.');
      expect(stack.runsOf(tool)).toEqual([]);
      expect(scene.requests).toHaveLength(2);
    },
  );

  test.concurrent('that says an error in its stream is asked again, without a part of it shown as text', async () => {
    const { stream, messages } = await ask([
      async (_call, reply) => {
        await reply.text('So ');
        await reply.chunk(errorBody('The engine is overloaded.', 'overloaded', 'server_error'));
        await reply.fin();
      },
      'So be it.',
    ]);
    expect(stream.text).toBe('So be it.');
    expect(messages[1]?.content).toBe('So be it.');
  });

  test.concurrent('may leave out [DONE], send chunks without choices, and usage on any of them', async () => {
    const { stream, turn } = await ask([
      async (_call, reply) => {
        await reply.chunk({ id: 'x', object: 'chat.completion.chunk', choices: [], prompt_filter_results: [{}] });
        await reply.raw(': a comment\r\n\r\n');
        await reply.rawBytes(`data:${JSON.stringify(completionChunk({ role: 'assistant', content: '杭州' }))}\r\n\r\n`);
        const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
        await reply.chunk(completionChunk({}, { finishReason: 'stop', usage }));
        await reply.fin();
      },
    ]);
    expect(stream.text).toBe('杭州');
    expect(turn.usage).toEqual({ inputTokens: 7, outputTokens: 2, totalTokens: 9 });
  });

  test.concurrent('that says nothing is asked once more, and then the turn fails', async () => {
    const { scene, stream, messages } = await ask(['', '']);
    expect(failed(stream)).toBe('empty_response');
    expect(scene.requests).toHaveLength(2);
    expect(scene.requests[1]?.body.messages.length).toBe((scene.requests[0]?.body.messages.length ?? 0) + 1);
    expect(messages).toHaveLength(1);
    const other = await ask([' \n', 'Oh. Yes.']);
    expect(other.stream.text).toBe('Oh. Yes.');
    // The reminder belongs to the turn, not to the history.
    expect(other.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(other.turn.status).toBe('COMPLETED');
  });

  test.concurrent('that stops at its output limit has its text kept and marked, and half a call not run', async () => {
    const tool = await stack.tool(() => 'called');
    const { stream, messages } = await ask([{ text: 'Once upon', finishReason: 'length' }]);
    expect(stream.types.at(-1)).toBe('done');
    expect(messages[1]).toMatchObject({ content: 'Once upon', status: 'truncated' });
    const half = { text: 'I call', toolCalls: [{ name: tool, arguments: '{"a":1}' }], finishReason: 'length' };
    const other = await ask([half], { tools: [tool] });
    expect(other.messages.at(-1)).toMatchObject({ content: 'I call', status: 'truncated' });
    expect(stack.runsOf(tool)).toEqual([]);
  });

  test.concurrent('that cannot be reached, or does not exist, fails the turn with a clear sentence', async () => {
    const nobody = await freePort();
    const away = await ask([], { model: { baseUrl: `http://127.0.0.1:${nobody}/v1` } });
    expect(away.turn.error).toMatchObject({ code: 'model_error', message: expect.stringContaining('ECONNREFUSED') });
    const unknown = await ask([], { model: { name: 'no-such-model' } });
    expect(unknown.turn.error?.message).toContain('no-such-model');
  });

  test.concurrent('fails after a tool has run: a later turn finds the result, and the tool ran once', async () => {
    const tool = await stack.tool(() => 'paid');
    const { scene, stream } = await ask([{ toolCalls: [{ name: tool }] }, { status: 400 }, 'It is paid.'], {
      tools: [tool],
    });
    expect(stream.types.at(-1)).toBe('error');
    expect((await scene.ask('And?')).text).toBe('It is paid.');
    expect(scene.requests[2]?.body.messages.slice(-3).map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(stack.runsOf(tool)).toHaveLength(1);
  });

  test.concurrent('that fails in the middle of its answer for good leaves the text as partial', async () => {
    const { stream, messages } = await ask([
      async (_call, reply) => {
        await reply.text('Half an ans');
        await reply.chunk(errorBody('bad', 'invalid_request_error'));
      },
    ]);
    expect(failed(stream)).toBe('model_error');
    expect(messages[1]).toMatchObject({ content: 'Half an ans', status: 'partial' });
  });

  test.concurrent('whose reasoning alone came is taken to have said nothing', async () => {
    const { stream } = await ask([{ reasoning: 'Hm.' }, { reasoning: 'Hm.' }]);
    expect(failed(stream)).toBe('empty_response');
  });

  test.concurrent('gets the key, the limits and the temperature that its agent has', async () => {
    const scene = await stack.scene(playStep(pieces(2, 1)), { model: { temperature: 0.5, maxOutputTokens: 99 } });
    await scene.ask('Go.');
    const [request] = scene.requests;
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    const { temperature, max_tokens, max_completion_tokens, stream } = request?.body ?? {};
    expect([temperature, max_tokens ?? max_completion_tokens, stream]).toEqual([0.5, 99, true]);
  });

  test('never has its key in the log', async () => {
    const tool = await stack.tool(() => 'x');
    await (await stack.scene(callsThen([{ name: tool }], 'Done.'), { tools: [tool] })).ask('Go.');
    expect(stack.turnwire.logs.length).toBeGreaterThan(5);
    expect(stack.turnwire.logs.join('\n')).not.toContain(KEY);
  });
});
