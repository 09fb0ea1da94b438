import { setTimeout as sleep } from 'node:timers/promises';
import type { ChatMessage } from '@turnwire/demo-model/chat-request';
import { byConversation, scripted } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen } from '../stack/answers.ts';
import { type Scene, useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';
import { ToolStatus } from '../stack/tool-server.ts';

/** What the model read of each call, in the order of its calls. */
function resultsIn(scene: Scene): readonly ChatMessage['content'][] {
  const messages = scene.requests.at(-1)?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

describe.each(profiles())('$name: tools', (profile) => {
  const stack = useStack(profile);

  test("are told the caller's trace context, where it is one", async () => {
    const tool = await stack.tool(() => 'traced');
    const scene = await stack.scene(callsThen([{ name: tool }], 'Done.'), { tools: [tool] });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await (await scene.say('Go.', { traceparent })).over();
    for (const wrong of [traceparent.toUpperCase(), `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, 'junk']) {
      await (await scene.say('Go.', { traceparent: wrong })).over();
    }
    expect(stack.runsOf(tool).map(({ headers }) => headers.traceparent)).toEqual([
      traceparent,
      undefined,
      undefined,
      undefined,
    ]);
    expect(stack.turnwire.logs.some((line) => line.includes('"traceId":"0af7651916cd43dd8448eb211c80319c"'))).toBe(
      true,
    );
  });

  test('of one step run in parallel, each with its arguments and its caller, and their results come as they come', async () => {
    const slow = await stack.tool(async ({ arguments: { city } }) => {
      await sleep(400);
      return { city, degrees: 21 };
    });
    const quick = await stack.tool(() => 'quick answer');
    const calls = [
      { id: 'call_a', name: slow, arguments: { city: '杭州' } },
      { id: 'call_b', name: slow, arguments: { city: 'Paris' } },
      { id: 'call_c', name: quick, arguments: '' },
    ];
    const scene = await stack.scene(callsThen(calls, 'Warm.'), { tools: [slow, quick] }, { userId: 'Ada Lovelace' });
    const stream = await scene.ask('Weather?');

    const [first, second] = stack.runsOf(slow);
    expect(Math.abs((first?.startedAt ?? 0) - (second?.startedAt ?? 0))).toBeLessThan(300);
    const { turnId } = stream.events[0]?.data ?? {};
    const keys = [...stack.runsOf(slow), ...stack.runsOf(quick)].map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(3);
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-tenant-id': 'default',
      'x-user-id': 'Ada%20Lovelace',
      'x-session-id': scene.sessionId,
      'x-turn-id': turnId,
    });
    expect(stack.runsOf(quick)[0]?.arguments).toEqual({});

    const results = stream.of('tool.result').map(({ data }) => data);
    expect(results[0]).toMatchObject({ toolCallId: 'call_c', name: quick, ok: true });
    expect(new Set(results.map(({ toolCallId }) => toolCallId))).toEqual(new Set(['call_a', 'call_b', 'call_c']));
    expect(results.find(({ toolCallId }) => toolCallId === 'call_b').durationMs).toBeGreaterThanOrEqual(390);
    expect(stream.of('tool.call').map(({ data }) => [data.step, data.toolCallId, data.arguments])).toEqual([
      [1, 'call_a', { city: '杭州' }],
      [1, 'call_b', { city: 'Paris' }],
      [1, 'call_c', {}],
    ]);
    expect(stream.types.lastIndexOf('tool.result')).toBeLessThan(stream.types.indexOf('turn.delta'));
    // What the model reads is in the order of its calls.
    expect(resultsIn(scene)).toEqual([
      '{"city":"杭州","degrees":21}',
      '{"city":"Paris","degrees":21}',
      '"quick answer"',
    ]);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant']);
    expect(messages[1]?.toolCalls?.map(({ id }) => id)).toEqual(['call_a', 'call_b', 'call_c']);
    expect((await stack.api.turn(turnId)).steps).toBe(2);
  });

  test('that fail, hang, do not exist or get wrong arguments disturb no other one', async () => {
    const fine = await stack.tool(() => ({ fine: true }));
    const broken = await stack.tool(() => new ToolStatus(500, { message: 'The database is away.\n    at Server.x' }));
    const hanging = await stack.tool(() => new Promise(() => undefined), { timeoutMs: 300 });
    const strict = await stack.tool(() => 'never', {
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    });
    const calls = [
      { name: broken },
      { name: hanging },
      { name: 'no_such_tool', arguments: { a: 1 } },
      { name: strict, arguments: { n: '7' } },
      { name: strict, arguments: '{"n": 7' },
      { name: fine },
    ];
    const tools = [fine, broken, hanging, strict];
    const scene = await stack.scene(callsThen(calls, 'So it is.'), { tools });
    const stream = await scene.ask('Try all.');
    expect(stream.types.at(-1)).toBe('done');
    const [brokenResult, hangingResult, unknownResult, wrongType, noJson, fineResult] = resultsIn(scene);
    expect(brokenResult).toMatch(/^The tool answered HTTP 500.*The database is away\./);
    expect(brokenResult).not.toContain('\n');
    expect(hangingResult).toContain('300 ms');
    expect(unknownResult).toContain('There is no tool "no_such_tool".');
    for (const name of tools) expect(unknownResult).toContain(name);
    expect(wrongType).toContain('arguments.n');
    expect(noJson).toContain('JSON');
    expect(fineResult).toBe('{"fine":true}');
    const ok = stream.of('tool.result').map(({ data }) => [data.name, data.ok]);
    expect(ok).toHaveLength(6);
    expect(ok.filter(([, good]) => good)).toEqual([[fine, true]]);
    expect(stack.runsOf(strict)).toEqual([]);
    // The time-out closed its connection.
    const [run] = stack.runsOf(hanging);
    expect(run?.outcome).toBe('aborted');
    expect((run?.endedAt ?? 0) - (run?.startedAt ?? 0)).toBeLessThan(1300);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.filter(({ status }) => status === 'error')).toHaveLength(5);
    // Arguments that could not be parsed go into the history as none.
    expect(messages[1]?.toolCalls?.[4]?.arguments).toEqual({});
  });

  test("wait for the agent's own limit where they have none", async () => {
    const hanging = await stack.tool(() => new Promise(() => undefined));
    const scene = await stack.scene(callsThen([{ name: hanging }], 'No.'), { tools: [hanging], toolTimeoutMs: 250 });
    const stream = await scene.ask('Try.');
    expect(stream.of('tool.result')[0]?.data).toMatchObject({ ok: false, result: expect.stringContaining('250 ms') });
  });

  test('that the agent does not have are not offered, and not run', async () => {
    const own = await stack.tool(() => 'own');
    const other = await stack.tool(() => 'other');
    const scene = await stack.scene(callsThen([{ name: other }], 'No.'), { tools: [own] });
    await scene.ask('Try.');
    expect(scene.requests[0]?.body.tools?.map((tool) => tool.function.name)).toEqual([own]);
    expect(stack.runsOf(other)).toEqual([]);
    expect(resultsIn(scene)[0]).toContain(`There is no tool "${other}".`);
  });

  test('that are built in work', async () => {
    const calls = [{ name: 'calculator', arguments: { expression: '12 * 7' } }, { name: 'current_time' }];
    const scene = await stack.scene(callsThen(calls, 'Done.'), { tools: ['calculator', 'current_time'] });
    const stream = await scene.ask('What is 12 * 7?');
    expect(stream.of('tool.result').map(({ data }) => data.ok)).toEqual([true, true]);
    expect(resultsIn(scene)[0]).toContain('84');
    expect(resultsIn(scene)[1]).toContain(new Date().getUTCFullYear().toString());
  });

  test('may come and go between steps', async () => {
    const late = await stack.tool(() => 'late');
    const early = await stack.tool(async () => {
      await stack.api.putTool(late, { url: stack.tools.define(() => 'late').url, description: 'now described' });
      return 'early';
    });
    const scene = await stack.scene(callsThen([{ name: early }], 'Done.'), { tools: [early, late] });
    await stack.api.deleteTool(late);
    await scene.ask('Go.');
    const offered = scene.requests.map(({ body }) => body.tools?.map((tool) => tool.function.name));
    expect(offered).toEqual([[early], [early, late].sort()]);
  });

  test('with a long result are cut for events and kept for the model', async () => {
    const long = await stack.tool(() => 'x'.repeat(50_000));
    const scene = await stack.scene(callsThen([{ name: long }], 'Long.'), { tools: [long] });
    const stream = await scene.ask('Read.');
    const { result, truncated } = stream.of('tool.result')[0]?.data ?? {};
    expect(truncated).toBe(true);
    expect(result.length).toBeLessThan(10_000);
    expect(resultsIn(scene)[0]).toHaveLength(50_002);
  });

  test('answer 5 MB without harm to the turn or the next one', async () => {
    const huge = await stack.tool(() => 'y'.repeat(5_000_000));
    const scene = await stack.scene(callsThen([{ name: huge }], 'Huge.'), { tools: [huge] });
    expect((await scene.ask('Read.')).text).toBe('Huge.');
    expect((await scene.ask('And again.')).text).toBe('Huge.');
    expect(JSON.stringify(scene.requests.at(-1)?.body).length).toBeLessThan(500_000);
  });

  test('called with ids that are empty, missing or repeated get ids of their own', async () => {
    const tool = await stack.tool(({ arguments: { n } }) => n);
    const calls = [
      { id: '', index: 0, name: tool, arguments: { n: 1 } },
      { id: null, index: 1, name: tool, arguments: { n: 2 } },
      { id: 'same', index: 2, name: tool, arguments: { n: 3 } },
    ];
    const handler = byConversation((messages) =>
      messages.filter(({ role }) => role === 'tool').length < 6 ? { toolCalls: calls } : 'Six.',
    );
    const scene = await stack.scene(handler, { tools: [tool] });
    const stream = await scene.ask('Count.');
    const ids = stream.of('tool.call').map(({ data }) => data.toolCallId);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
    expect(ids.every((id) => id !== '')).toBe(true);
    expect(resultsIn(scene)).toEqual(['1', '2', '3', '1', '2', '3']);
    const again = await scene.ask('Say it again.');
    expect(again.text).toBe('Six.');
  });

  test('called in parallel at index 0, or with interleaved pieces, are told apart', async () => {
    const tool = await stack.tool(({ arguments: { n } }) => n);
    const scene = await stack.scene(
      scripted([
        {
          toolCalls: [
            { index: 0, id: 'g1', name: tool, arguments: '{"n":1}' },
            { index: 0, id: 'g2', name: tool, arguments: '{"n":2}' },
          ],
        },
        {
          toolCalls: [
            { index: 0, id: 'o1', name: tool, arguments: '{"n"' },
            { index: 1, id: 'o2', name: tool, arguments: '' },
            { index: 0, arguments: ':3}' },
            { index: 1, arguments: '{"n":4}' },
          ],
          finishReason: 'stop',
        },
        'Four.',
      ]),
      { tools: [tool] },
    );
    await scene.ask('Count.');
    expect(
      stack
        .runsOf(tool)
        .map((run) => run.arguments.n)
        .sort(),
    ).toEqual([1, 2, 3, 4]);
    expect(resultsIn(scene)).toEqual(['1', '2', '3', '4']);
  });
});
