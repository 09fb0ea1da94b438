import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageText } from '@turnwire/demo-model/chat-request';
import { playStep, scripted } from '@turnwire/demo-model/script';
import { afterAll, describe, expect, test } from 'vitest';
import { callsThen } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { type Scene, useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnwire-hooks-'));
const recordFile = join(folder, 'record.jsonl');
writeFileSync(recordFile, '');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Seen {
  readonly hook: string;
  readonly sessionId: string;
  readonly [fact: string]: unknown;
}

function seenOf({ sessionId }: Scene): readonly Seen[] {
  const lines = readFileSync(recordFile, 'utf8').split('\n').slice(0, -1);
  return lines.map((line): Seen => JSON.parse(line)).filter((seen) => seen.sessionId === sessionId);
}

/** `afterSession` comes after the terminal event. */
async function afterEnd(scene: Scene): Promise<readonly Seen[]> {
  await eventually(() => expect(seenOf(scene).at(-1)?.hook).toBe('afterSession'));
  return seenOf(scene);
}

describe.each(profiles())('$name: hooks', (profile) => {
  const env = { HOOKS_MODULE: join(import.meta.dirname, 'observed-hooks.mjs'), HOOKS_RECORD: recordFile };
  const stack = useStack(profile, { env });

  test('are called in order, with the turn that they are about', async () => {
    const tool = await stack.tool(() => 'Card 4111-1111 is good.');
    const calls = [{ id: 'call_1', name: tool, arguments: { n: 1 } }];
    const scene = await stack.scene(callsThen(calls, 'Good.'), { tools: [tool] }, { userId: 'grace' });
    const stream = await scene.ask('Check the card.');
    const seen = await afterEnd(scene);
    expect(seen.map(({ hook }) => hook)).toEqual([
      'beforeSession',
      'beforeModel',
      'afterModel',
      'beforeToolUse',
      'afterToolUse',
      'beforeModel',
      'afterModel',
      'afterSession',
    ]);
    const { turnId } = stream.events[0]?.data ?? {};
    const context = { tenantId: 'default', userId: 'grace', sessionId: scene.sessionId, turnId };
    for (const call of seen) expect(call).toMatchObject(context);
    expect(seen[0]).toMatchObject({ attempt: 1, state: 'RUNNING' });
    expect(seen[1]).toMatchObject({ agentId: scene.agentId, step: 1 });
    expect(seen[2]).toMatchObject({ step: 1, text: '', toolNames: [tool], tokens: expect.any(Number) });
    expect(seen[3]).toMatchObject({ toolCallId: 'call_1', name: tool, arguments: { n: 1 } });
    expect(seen[4]).toMatchObject({ toolCallId: 'call_1', ok: true, result: '"Card 4111-1111 is good."' });
    expect(seen[6]).toMatchObject({ step: 2, text: 'Good.', toolNames: [] });
    expect(seen[7]).toMatchObject({ status: 'COMPLETED' });
    // What afterToolUse answers is what everybody reads.
    const shown = JSON.stringify([stream.events, scene.requests[1]?.body, await stack.api.messages(scene.sessionId)]);
    expect(shown).not.toContain('4111-1111');
    expect(shown.split('[card]')).toHaveLength(4);
  });

  test('may refuse a turn before anything is done', async () => {
    const scene = await stack.scene(playStep('Never.'));
    const stream = await scene.ask('Something forbidden.');
    expect(stream.events.at(-1)).toMatchObject({
      type: 'error',
      data: { code: 'refused_by_hook', message: 'This is against the house rules.' },
    });
    expect(scene.requests).toEqual([]);
    const seen = await afterEnd(scene);
    expect(seen.map(({ hook }) => hook)).toEqual(['beforeSession', 'onError', 'afterSession']);
    expect(seen[1]).toMatchObject({ where: 'turn', code: 'refused_by_hook' });
    expect((await scene.ask('Something else.')).text).toBe('Never.');
  });

  test('may change a request, and the arguments of a call, but not the history', async () => {
    const tool = await stack.tool(({ arguments: { secret } }) => ({ secret }));
    const calls = [{ name: tool, arguments: { secret: '?' } }];
    const scene = await stack.scene(callsThen(calls, 'Done.'), { tools: [tool] });
    await scene.ask('Please shout.');
    expect(messageText(scene.requests[0]?.body.messages.at(-1) ?? { role: 'user' })).toBe('PLEASE SHOUT.');
    expect(stack.runsOf(tool)[0]?.arguments).toEqual({ secret: 'filled in' });
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages[0]?.content).toBe('Please shout.');
    expect(messages[1]?.toolCalls?.[0]?.arguments).toEqual({ secret: '?' });
  });

  test('that fail around a tool fail that call alone', async () => {
    const tool = await stack.tool(() => 'fine');
    const calls = [{ name: tool, arguments: { refuse: true } }, { name: tool }];
    const scene = await stack.scene(callsThen(calls, 'Done.'), { tools: [tool] });
    const stream = await scene.ask('Try both.');
    expect(stream.types.at(-1)).toBe('done');
    const results = scene.requests[1]?.body.messages.filter(({ role }) => role === 'tool').map(messageText);
    expect(results).toEqual(['Not with this one.', '"fine"']);
    expect(stack.runsOf(tool)).toHaveLength(1);
  });

  test('that fail around the model fail the turn as internal, without a word of their error', async () => {
    const scene = await stack.scene(playStep('Never.'));
    const stream = await scene.ask('The model hook fails.');
    expect(stream.events.at(-1)).toMatchObject({ type: 'error', data: { code: 'internal' } });
    expect(JSON.stringify(stream.events)).not.toContain('No model today');
    const seen = await afterEnd(scene);
    expect(seen.find(({ hook }) => hook === 'onError')).toMatchObject({ code: 'internal' });
  });

  test('that fail after the end change nothing', async () => {
    const scene = await stack.scene(playStep('Said.'));
    const stream = await scene.ask('With a late error.');
    await afterEnd(scene);
    expect((await stack.api.turn(stream.events[0]?.data.turnId)).status).toBe('COMPLETED');
    expect((await scene.ask('Again.')).text).toBe('Said.');
  });

  test('hear of a model that failed, and of a cancel', async () => {
    const scene = await stack.scene(scripted([{ status: 401 }, { ending: 'hang' }]));
    await scene.ask('Go.');
    const failed = await afterEnd(scene);
    expect(failed.map(({ hook }) => hook)).toEqual(['beforeSession', 'beforeModel', 'onError', 'afterSession']);
    expect(failed[2]).toMatchObject({ code: 'model_auth' });
    const stream = await scene.say('Go.');
    await stack.model.waitForRequest({ model: scene.model, nth: 2 });
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    await eventually(() => expect(seenOf(scene).at(-1)).toMatchObject({ hook: 'afterSession', status: 'CANCELLED' }));
    expect(seenOf(scene).filter(({ hook }) => hook === 'onError')).toHaveLength(1);
  });

  test('that hang do not hold up a cancel', async () => {
    const scene = await stack.scene(playStep('Never.'));
    const stream = await scene.say('Please hang.');
    await eventually(() => expect(seenOf(scene).map(({ hook }) => hook)).toEqual(['beforeSession']));
    const before = performance.now();
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    expect(stream.types.at(-1)).toBe('cancelled');
    expect(performance.now() - before).toBeLessThan(1000);
  });

  test('are not called again for a turn that waits for a person, but for its beginning', async () => {
    const tool = await stack.tool(() => 'ok');
    const scene = await stack.scene(callsThen([{ name: tool }], 'Done.'), {
      tools: [tool],
      approval: { tools: ['*'] },
    });
    await scene.ask('Go.');
    expect(seenOf(scene).map(({ hook }) => hook)).toEqual(['beforeSession', 'beforeModel', 'afterModel']);
    await stack.api.resume(scene.sessionId);
    const seen = await afterEnd(scene);
    expect(seen.slice(3).map(({ hook }) => hook)).toEqual([
      'beforeSession',
      'beforeToolUse',
      'afterToolUse',
      'beforeModel',
      'afterModel',
      'afterSession',
    ]);
  });
});
