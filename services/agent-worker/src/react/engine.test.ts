import { validateConversation } from '@turnwire/demo-model/validate-conversation';
import type { Decision } from '@turnwire/shared/domain/interrupt';
import type { ModelRequest } from '@turnwire/shared/ports/language-model';
import type { Tool, ToolCallContext } from '@turnwire/shared/ports/tool';
import { type EmbeddedAdapters, makeEmbeddedAdapters } from '@turnwire/shared/testing/embedded-adapters';
import {
  breaks,
  calls,
  createScriptedModel,
  ends,
  inOrder,
  type ScriptedReply,
  says,
  thenHangs,
} from '@turnwire/shared/testing/scripted-model';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toChatMessages } from '../testing/chat-messages.ts';
import { type BenchClient, createBenchWorker, openBenchSession } from '../testing/turn-bench.ts';

let adapters: EmbeddedAdapters;
beforeEach(async () => {
  adapters = await makeEmbeddedAdapters();
});
afterEach(() => adapters.close());

interface Setting {
  readonly replies: readonly ScriptedReply[];
  readonly tools?: readonly Tool[];
  readonly agent?: object;
}

/** A session with a turn that waits for its worker. */
async function begin({ replies, tools = [], agent = {} }: Setting) {
  const model = createScriptedModel(inOrder(...replies));
  const client = await openBenchSession(adapters, { tools: tools.map(({ definition }) => definition.name), ...agent });
  const worker = createBenchWorker({ ...adapters, model, tools });
  const { id } = await client.accept('Do it.');
  return {
    client,
    model,
    id,
    run: () => worker.run(client.key),
    turn: () => client.turn(id),
    /** Types of the session's events, with the text of deltas and the step of resets. */
    async story() {
      const events = await client.events();
      return events.map((event) => {
        if (event.type === 'turn.delta') return event.data.text;
        return event.type === 'turn.reset' ? `reset ${event.data.step}` : event.type;
      });
    },
    /** What the model was told of its calls, in the request with this number. */
    results: (request: number) => resultsIn(model.requests[request]),
  };
}

function resultsIn(request: ModelRequest | undefined): readonly string[] {
  return (request?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** Lets everything run that waits for nothing but its turn. */
const settle = () => adapters.clock.advance(0);

describe('an answer', () => {
  test('is shown piece by piece and stored as it was shown', async () => {
    const bench = await begin({ replies: [says('Good morning, Ada.')] });
    await bench.run();
    expect(await bench.story()).toEqual(['turn.started', 'step.started', 'Good', ' morning,', ' Ada.', 'done']);
    expect(await bench.client.messages()).toMatchObject([
      { role: 'user', content: 'Do it.' },
      { role: 'assistant', content: 'Good morning, Ada.' },
    ]);
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED', steps: 1, usage: { totalTokens: 15 } });
  });

  test('is marked when the model stopped at its limit', async () => {
    const bench = await begin({ replies: [says('Once upon a', 'length')] });
    await bench.run();
    expect((await bench.client.messages()).at(-1)).toMatchObject({ content: 'Once upon a', status: 'truncated' });
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
  });

  test('that stopped in the middle of a call is one; the call is not run', async () => {
    const tool = createScriptedTool('send', () => 'sent');
    const half = [{ type: 'text', text: 'I will send it.' } as const, ...calls({ name: 'send' }).slice(0, 1)];
    const bench = await begin({ replies: [[...half, ...ends('length')]], tools: [tool] });
    await bench.run();
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
    expect(tool.runs).toEqual([]);
  });

  test.each([
    ['half a call', calls({ name: 'send' }).slice(0, 1)],
    ['nothing that is shown', []],
  ])('that stopped at its limit after %s fails the turn at once, and says what to raise', async (_, half) => {
    const tool = createScriptedTool('send', () => 'sent');
    const model = { name: 'm', maxOutputTokens: 77 };
    const bench = await begin({ replies: [[...half, ...ends('length')]], tools: [tool], agent: { model } });
    await bench.run();
    const error = { code: 'empty_response', message: expect.stringContaining('maxOutputTokens: 77') };
    expect(await bench.turn()).toMatchObject({ status: 'FAILED', error });
    expect([bench.model.requests.length, tool.runs.length]).toEqual([1, 0]);
  });

  test('of nothing is asked for once more, and then the turn fails', async () => {
    const bench = await begin({ replies: [says(''), says('  ')] });
    await bench.run();
    expect(bench.model.requests).toHaveLength(2);
    expect(bench.model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('last reply was empty'),
    });
    expect(await bench.turn()).toMatchObject({ status: 'FAILED', error: { code: 'empty_response' } });
    expect(await bench.turn()).toMatchObject({ usage: { totalTokens: 30 } });
  });

  test('that comes when asked once more is the answer', async () => {
    const bench = await begin({ replies: [says(''), says('Here I am.')] });
    await bench.run();
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
    // The nudge is no part of the history.
    expect((await bench.client.messages()).map(({ content }) => content)).toEqual(['Do it.', 'Here I am.']);
  });

  test('with reasoning shows the reasoning apart and does not store it', async () => {
    const bench = await begin({ replies: [[{ type: 'reasoning', text: 'Hm.' }, ...says('Yes.')]] });
    await bench.run();
    expect(await bench.story()).toEqual(['turn.started', 'step.started', 'reasoning.delta', 'Yes.', 'done']);
    expect((await bench.client.messages()).at(-1)?.content).toBe('Yes.');
  });
});

describe('a model call', () => {
  test('that breaks is made again, and what it showed is taken back', async () => {
    const half: ScriptedReply = [{ type: 'text', text: 'Hel' }, ...breaks()];
    const bench = await begin({ replies: [half, says('Hello')] });
    const done = bench.run();
    await adapters.clock.advance(2_000);
    await done;
    expect(await bench.story()).toEqual(['turn.started', 'step.started', 'Hel', 'reset 1', 'Hello', 'done']);
    expect((await bench.client.messages()).at(-1)?.content).toBe('Hello');
  });

  test('is made again no sooner than the provider asked for', async () => {
    const busy = breaks({ code: 'model_overloaded', retryAfterMs: 5_000 });
    const bench = await begin({ replies: [busy, busy, says('At last.')] });
    const done = bench.run();
    await adapters.clock.advance(4_999);
    expect(bench.model.requests).toHaveLength(1);
    await adapters.clock.advance(1);
    expect(bench.model.requests).toHaveLength(2);
    await adapters.clock.advance(4_999);
    expect(bench.model.requests).toHaveLength(2);
    await adapters.clock.advance(1);
    await done;
    // Nothing was shown in between, so there is nothing to take back.
    expect(await bench.story()).toEqual(['turn.started', 'step.started', 'At', ' last.', 'done']);
  });

  test.each(['model_auth', 'model_error', 'context_overflow'] as const)(
    'refused with %s is not made again',
    async (code) => {
      const bench = await begin({ replies: [breaks({ code, retry: false, message: 'No.' })] });
      await bench.run();
      expect(bench.model.requests).toHaveLength(1);
      expect(await bench.turn()).toMatchObject({ status: 'FAILED', error: { code, message: 'No.' } });
    },
  );

  test('that keeps breaking fails the turn, with the text that was shown last', async () => {
    const bench = await begin({ replies: [[{ type: 'text', text: 'Well' }, ...breaks()]] });
    const done = bench.run();
    await adapters.clock.advance(120_000);
    await done;
    expect(bench.model.requests).toHaveLength(5);
    expect(await bench.turn()).toMatchObject({ status: 'FAILED', error: { code: 'model_error' } });
    expect((await bench.client.messages()).at(-1)).toMatchObject({ content: 'Well', status: 'partial' });
  });

  test('of an agent without prompt and tools has no system message', async () => {
    const bench = await begin({ replies: [says('Hi.')] });
    await bench.run();
    expect(bench.model.requests[0]?.messages).toEqual([{ role: 'user', content: 'Do it.' }]);
  });

  test('of a later turn has the whole conversation', async () => {
    const tool = createScriptedTool('look', () => '');
    const bench = await begin({ replies: [calls({ name: 'look' }), says('Nothing there.')], tools: [tool] });
    await bench.run();
    await bench.client.accept('Look again.');
    await bench.run();
    const sent = bench.model.requests.at(-1)?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(validateConversation(toChatMessages(sent))).toEqual([]);
  });
});

describe('tools', () => {
  test('of one step run at the same time, and each result is stored as it comes', async () => {
    const slow = Promise.withResolvers<string>();
    const tools = [createScriptedTool('slow', () => slow.promise), createScriptedTool('fast', () => 'quick')];
    const bench = await begin({ replies: [calls({ name: 'slow' }, { name: 'fast' }), says('Done.')], tools });
    const done = bench.run();
    await settle();
    expect((await bench.client.toolCalls(bench.id)).map(({ state }) => state)).toEqual(['started', 'done']);
    expect((await bench.client.messages()).at(-1)).toMatchObject({ role: 'tool', content: 'quick' });
    slow.resolve('at last');
    await done;
    // The model reads them in the order of its calls.
    expect(bench.results(1)).toEqual(['at last', 'quick']);
  });

  test('that fail do not disturb the others; the model reads one line', async () => {
    const broken = createScriptedTool('broken', () => {
      throw new Error(`It  broke\n    at somewhere ${'x'.repeat(1000)}`);
    });
    const tools = [broken, createScriptedTool('whole', () => 'fine')];
    const bench = await begin({ replies: [calls({ name: 'broken' }, { name: 'whole' }), says('Half done.')], tools });
    await bench.run();
    const [told, other] = bench.results(1);
    expect(told).toMatch(/^It broke at somewhere x+…$/);
    expect(told?.length).toBeLessThan(510);
    expect(other).toBe('fine');
    expect((await bench.client.messages()).find(({ role }) => role === 'tool')).toMatchObject({ status: 'error' });
  });

  test.each([
    { limit: 'the agent’s', timeoutMs: null, expected: 3_000 },
    { limit: 'their own', timeoutMs: 700, expected: 700 },
  ])('that do not answer within $limit limit are stopped, even if they ignore it', async ({ timeoutMs, expected }) => {
    const stuck = createScriptedTool('stuck', () => new Promise(() => undefined), { timeoutMs });
    const bench = await begin({
      replies: [calls({ name: 'stuck' }), says('It hangs.')],
      tools: [stuck],
      agent: { toolTimeoutMs: 3_000 },
    });
    const done = bench.run();
    await adapters.clock.advance(expected - 1);
    expect(stuck.runs[0]?.context.signal.aborted).toBe(false);
    await adapters.clock.advance(1);
    await done;
    expect(stuck.runs[0]?.context.signal.aborted).toBe(true);
    expect(bench.results(1)).toEqual([`The tool did not answer within ${expected} ms and was stopped.`]);
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
  });

  test('are told whom they run for', async () => {
    const tool = createScriptedTool('who', () => 'you');
    const bench = await begin({ replies: [calls({ id: 'c1', name: 'who' }), says('You.')], tools: [tool] });
    await bench.run();
    const { tenantId, sessionId } = bench.client.key;
    const context: Partial<ToolCallContext> = {
      tenantId,
      sessionId,
      userId: 'ada',
      turnId: bench.id,
      toolCallId: 'c1',
    };
    expect(tool.runs[0]?.context).toMatchObject({ ...context, idempotencyKey: `${bench.id}-1-0` });
  });

  test('that are not there, bad arguments and broken JSON are told to the model, and the rest runs', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const count = createScriptedTool('count', ({ n }) => String(n), { parameters });
    const asked = calls(
      { name: 'fly' },
      { name: 'count', arguments: { n: 'three' } },
      { name: 'count', arguments: '{"{"n"' },
      { name: 'count', arguments: { n: 3 } },
    );
    const bench = await begin({ replies: [asked, says('3.')], tools: [count] });
    await bench.run();
    const [unknown, wrong, broken, right] = bench.results(1);
    expect(unknown).toBe('There is no tool "fly". There are: count.');
    expect(wrong).toContain('arguments.n must be integer');
    expect(broken).toContain('no valid JSON');
    expect(right).toBe('3');
    expect(count.runs).toHaveLength(1);
    expect(validateConversation(toChatMessages(bench.model.requests[1]?.messages ?? []))).toEqual([]);
  });

  test('of MCP servers have names that models take, and their own everywhere else', async () => {
    const read = createScriptedTool('mcp:files/read', () => 'text');
    const bench = await begin({ replies: [calls({ name: 'mcp__files__read' }), says('Read.')], tools: [read] });
    await bench.run();
    expect(bench.model.requests[0]?.tools).toMatchObject([{ name: 'mcp__files__read' }]);
    expect(bench.model.requests[1]?.messages).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', toolCalls: [{ name: 'mcp__files__read' }] },
      { role: 'tool', content: 'text' },
    ]);
    expect(await bench.client.toolCalls(bench.id)).toMatchObject([{ name: 'mcp:files/read', state: 'done' }]);
    expect(read.runs).toHaveLength(1);
  });

  test('run even if the model says that it stopped, and with ids of our own if it gives none', async () => {
    const tool = createScriptedTool('ping', () => 'pong');
    const asked = calls({ id: '', name: 'ping' }, { id: null, name: 'ping' }).slice(0, 2);
    const bench = await begin({ replies: [[...asked, ...ends('stop')], says('Pong.')], tools: [tool] });
    await bench.run();
    expect(tool.runs).toHaveLength(2);
    const ids = (await bench.client.toolCalls(bench.id)).map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('may come and go between steps', async () => {
    const tools: Tool[] = [createScriptedTool('first', () => 'one')];
    const bench = await begin({
      replies: [calls({ name: 'first' }), says('Done.')],
      tools,
      agent: { tools: ['*'] },
    });
    tools[0] = createScriptedTool('first', () => {
      tools[0] = createScriptedTool('second', () => 'two');
      return 'one';
    });
    await bench.run();
    expect(bench.model.requests.map(({ tools: offered }) => offered.map(({ name }) => name))).toEqual([
      ['first'],
      ['second'],
    ]);
  });

  test('that go on for ever end at the last step', async () => {
    const tool = createScriptedTool('again', () => 'more');
    const bench = await begin({ replies: [calls({ name: 'again' })], tools: [tool], agent: { maxSteps: 3 } });
    await bench.run();
    expect(bench.model.requests).toHaveLength(3);
    expect(bench.model.requests[2]?.messages[0]?.content).toContain('This is the last step');
    expect(await bench.turn()).toMatchObject({ status: 'FAILED', steps: 3, error: { code: 'max_steps' } });
    // An id that the provider repeats is made unique.
    const ids = (await bench.client.toolCalls(bench.id)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
  });

  test('with long results are cut for clients and for the model', async () => {
    const tool = createScriptedTool('dump', () => 'x'.repeat(200_000));
    const bench = await begin({ replies: [calls({ name: 'dump' }), says('Much.')], tools: [tool] });
    await bench.run();
    const event = (await bench.client.events()).find(({ type }) => type === 'tool.result');
    expect(event?.data).toMatchObject({ truncated: true, result: 'x'.repeat(8_000) });
    expect(bench.results(1)[0]?.length).toBeLessThan(101_000);
  });
});

describe('a cancel', () => {
  test('closes the model’s stream and keeps the partial text', async () => {
    const bench = await begin({ replies: [thenHangs({ type: 'text', text: 'I was going to' })] });
    const done = bench.run();
    await settle();
    expect(bench.model.open).toBe(1);
    await bench.client.cancel();
    await done;
    expect(bench.model.open).toBe(0);
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED', error: null });
    expect((await bench.client.messages()).at(-1)).toMatchObject({ content: 'I was going to', status: 'partial' });
    expect((await bench.story()).at(-1)).toBe('cancelled');
  });

  test('stops a tool; what it had done by then is unknown', async () => {
    const stuck = createScriptedTool('stuck', () => new Promise(() => undefined));
    const bench = await begin({
      replies: [[...says('Wait.').slice(0, 1), ...calls({ name: 'stuck' })]],
      tools: [stuck],
    });
    const done = bench.run();
    await settle();
    await bench.client.cancel();
    await done;
    expect((await bench.client.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(stuck.runs[0]?.context.signal.aborted).toBe(true);
    expect(await bench.client.toolCalls(bench.id)).toMatchObject([{ state: 'unknown' }]);
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED' });
  });

  test('ends the wait for another try', async () => {
    const bench = await begin({ replies: [breaks({ retryAfterMs: 60_000 })] });
    const done = bench.run();
    await settle();
    await bench.client.cancel();
    await done;
    expect(bench.model.requests).toHaveLength(1);
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED' });
  });

  test.each([
    ['recordStep', 'rejected'],
    ['recordOutcomes', 'rejected'],
    ['startCalls', 'unknown'],
  ] as const)('that comes to light with %s lets no tool start', async (name, state) => {
    const tool = createScriptedTool('send', () => 'sent');
    const bench = await begin({ replies: [calls({ name: 'fly' }, { name: 'send' })], tools: [tool] });
    await cancelAt(bench.client, name);
    await bench.run();
    expect(tool.runs).toEqual([]);
    expect((await bench.client.toolCalls(bench.id)).at(-1)).toMatchObject({ name: 'send', state });
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED' });
  });

  test('that comes to light as the turn is to wait ends it instead', async () => {
    const tool = createScriptedTool('send', () => 'sent');
    const bench = await begin({
      replies: [calls({ name: 'send' })],
      tools: [tool],
      agent: { approval: { tools: ['*'] } },
    });
    await cancelAt(bench.client, 'suspend');
    await bench.run();
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED' });
    expect(await bench.client.session()).toMatchObject({ state: 'IDLE', interrupt: null, lease: { holder: null } });
  });

  /** Cancels just before that write, with a signal that is lost. */
  async function cancelAt(client: BenchClient, name: 'recordStep' | 'recordOutcomes' | 'startCalls' | 'suspend') {
    adapters.bus.nudge = () => undefined;
    const { turns } = adapters.store;
    const write = turns[name].bind(turns) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(turns, {
      [name]: async (...args: unknown[]) => {
        await client.cancel();
        return write(...args);
      },
    });
  }
});

describe('an approval', () => {
  async function suspended(asked: readonly ScriptedReply[]) {
    const send = createScriptedTool('send', ({ to }) => `sent to ${String(to)}`);
    const look = createScriptedTool('look', () => 'seen');
    const bench = await begin({
      replies: [...asked, says('All said and done.')],
      tools: [send, look],
      agent: { approval: { tools: ['send'] } },
    });
    await bench.run();
    return { ...bench, send, look };
  }

  async function decide(bench: Awaited<ReturnType<typeof suspended>>, decisions: Record<string, Decision>) {
    const settlement = { interruptId: null, decisions, others: null, text: null };
    await adapters.store.sessions.settleInterrupt(bench.client.key, settlement, null);
    await bench.run();
  }

  const twoCalls = calls({ id: 'a', name: 'send', arguments: { to: 'bob' } }, { id: 'b', name: 'look' });

  test('of one of two calls lets neither start before', async () => {
    const bench = await suspended([twoCalls]);
    expect(await bench.client.session()).toMatchObject({ state: 'WAITING', interrupt: { toolCalls: [{ id: 'a' }] } });
    expect([...bench.send.runs, ...bench.look.runs]).toEqual([]);
    expect((await bench.story()).at(-1)).toBe('interrupt');
    await decide(bench, { a: { action: 'approve' } });
    expect(bench.results(1)).toEqual(['sent to bob', 'seen']);
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED', attempt: 1 });
  });

  test.each<[Decision, string, number]>([
    [{ action: 'approve' }, 'sent to bob', 1],
    [{ action: 'reject' }, 'A person rejected this call.', 0],
    [{ action: 'reject', reason: 'too early' }, 'A person rejected this call: too early', 0],
    [{ action: 'respond', result: { id: 7 } }, '{"id":7}', 0],
    [
      { action: 'edit', arguments: { to: 'eve' } },
      'A person set the arguments of this call to {"to":"eve"}.\nsent to eve',
      1,
    ],
  ])('decided as %j tells the model %j', async (decision, told, runs) => {
    const bench = await suspended([twoCalls]);
    await decide(bench, { a: decision });
    expect(bench.results(1)).toEqual([told, 'seen']);
    expect(bench.send.runs).toHaveLength(runs);
    expect(bench.look.runs).toHaveLength(1);
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
    expect(validateConversation(toChatMessages(bench.model.requests[1]?.messages ?? []))).toEqual([]);
  });

  test('is asked for each step anew, and an earlier one is not forgotten', async () => {
    const again = calls({ id: 'c', name: 'send', arguments: { to: 'carol' } });
    const bench = await suspended([twoCalls, again]);
    await decide(bench, { a: { action: 'approve' } });
    expect(await bench.client.session()).toMatchObject({ state: 'WAITING', interrupt: { toolCalls: [{ id: 'c' }] } });
    await decide(bench, { c: { action: 'approve' } });
    expect(bench.send.runs.map(({ args }) => args)).toEqual([{ to: 'bob' }, { to: 'carol' }]);
  });

  test('is not asked for calls that could not run anyway', async () => {
    const bench = await suspended([calls({ name: 'send', arguments: '{' })]);
    expect(await bench.turn()).toMatchObject({ status: 'COMPLETED' });
  });

  test('is not waited for any more when the turn is cancelled', async () => {
    const bench = await suspended([twoCalls]);
    await bench.client.cancel();
    await bench.run();
    expect(await bench.turn()).toMatchObject({ status: 'CANCELLED' });
    expect([...bench.send.runs, ...bench.look.runs]).toEqual([]);
    expect((await bench.client.toolCalls(bench.id)).map(({ state }) => state)).toEqual(['rejected', 'rejected']);
  });
});
