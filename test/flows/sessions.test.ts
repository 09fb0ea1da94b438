import { setTimeout as sleep } from 'node:timers/promises';
import { messageText } from '@turnwire/demo-model/chat-request';
import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

describe.each(profiles())('$name: a session', (profile) => {
  const stack = useStack(profile);

  test('deleted while it streams stops its model and its tools, and is unknown from then on', async () => {
    const tool = await stack.tool(() => new Promise(() => undefined));
    const talking = await stack.scene(playStep(pieces(500, 10)));
    const working = await stack.scene(callsThen([{ name: tool }], 'Done.'), { tools: [tool] });
    const streams = [await talking.say('Count.'), await working.say('Work.')];
    await streams[0]?.until('turn.delta', 3);
    await eventually(() => expect(stack.runsOf(tool)).toHaveLength(1));
    const queued = await stack.api.postTurn(talking.sessionId, { text: 'Next.' });
    const watcher = await stack.turnwire.stream(`/v1/sessions/${talking.sessionId}/events`);
    const deletedAt = Date.now();
    await Promise.all([talking, working].map(({ sessionId }) => stack.api.deleteSession(sessionId)));
    await Promise.all([...streams, watcher].map((stream) => stream.over(2000)));
    for (const stream of [...streams, watcher]) {
      expect(stream.end).toBe('server');
      expect(stream.types.at(-1)).toBe('cancelled');
    }
    await stack.model.waitForRequest({ model: talking.model, state: 'aborted' });
    expect((talking.requests[0]?.abortedAt ?? 0) - deletedAt).toBeLessThan(1000);
    await eventually(() => expect(stack.runsOf(tool)[0]?.outcome).toBe('aborted'));
    expect((stack.runsOf(tool)[0]?.endedAt ?? 0) - deletedAt).toBeLessThan(1000);
    const at = `/v1/sessions/${talking.sessionId}`;
    for (const [method, path] of [
      ['GET', at],
      ['DELETE', at],
      ['GET', `${at}/messages`],
      ['GET', `${at}/events?after=0`],
      ['POST', `${at}/resume`],
      ['POST', `${at}/cancel`],
      ['GET', `/v1/turns/${queued.id}`],
    ] as const) {
      const { status, body } = await stack.api.call(method, path);
      expect(`${method} ${path} ${status} ${body.code}`).toBe(`${method} ${path} 404 not_found`);
    }
    expect((await stack.api.call('POST', `${at}/turns`, { text: 'x' })).status).toBe(404);
    await sleep(600); // over some sweeps: nothing of it comes back
    expect([talking.requests.length, working.requests.length, stack.runsOf(tool).length]).toEqual([1, 1, 1]);
  });

  test('deleted while it waits for a person is gone with its approval', async () => {
    const tool = await stack.tool(() => 'sent');
    const settings = { tools: [tool], approval: { tools: [tool], ttlSeconds: 1 } };
    const scene = await stack.scene(callsThen([{ name: tool }], 'Sent.'), settings);
    await scene.ask('Send.');
    await stack.api.deleteSession(scene.sessionId);
    expect((await stack.api.resume(scene.sessionId)).status).toBe(404);
    await sleep(1300); // past its expiry
    expect(stack.runsOf(tool)).toEqual([]);
    expect(scene.requests).toHaveLength(1);
  });

  test('lists by user and state, page by page', async () => {
    const scenes = await Promise.all(
      Array.from({ length: 5 }, () => stack.scene(playStep('Hi.'), {}, { userId: 'lister' })),
    );
    const running = await stack.scene(playStep(pieces(300, 10)), {}, { userId: 'lister' });
    const stream = await running.say('Go.');
    const list = async (query: string) => (await stack.api.call('GET', `/v1/sessions?userId=lister${query}`)).body;
    const first = await list('&limit=4');
    const rest = await list(`&limit=4&cursor=${encodeURIComponent(first.nextCursor)}`);
    const ids = [...first.items, ...rest.items].map(({ id }) => id);
    expect(rest.nextCursor).toBeNull();
    expect(ids.toSorted()).toEqual([...scenes, running].map(({ sessionId }) => sessionId).toSorted());
    expect((await list('&state=RUNNING')).items.map(({ id }: { id: string }) => id)).toEqual([running.sessionId]);
    expect((await list('&state=IDLE')).items).toHaveLength(5);
    await stack.api.cancelSession(running.sessionId);
    await stream.over();
  });
});

describe.each(profiles())('$name: an agent', (profile) => {
  const stack = useStack(profile);

  test('changed while a turn waits is for the next turn: the waiting one keeps what it began with', async () => {
    const tool = await stack.tool(() => 'sent');
    const settings = { tools: [tool], approval: { tools: [tool] }, systemPrompt: 'Old rules at {{time}}.' };
    const scene = await stack.scene(callsThen([{ name: tool }], 'Sent.'), settings);
    await scene.ask('Send.');
    stack.model.setHandler('newer-model', playStep('I am new.'));
    await stack.api.putAgent(scene.agentId, { systemPrompt: 'New rules.', model: { name: 'newer-model' }, tools: [] });
    const resumed = await stack.turnwire.stream(`/v1/sessions/${scene.sessionId}/resume`, { method: 'POST' });
    expect((await resumed.over()).text).toBe('Sent.');
    const [before, after] = scene.requests.map(({ body }) => body.messages[0]);
    expect(messageText(before ?? { role: 'system' })).toContain('Old rules at 2');
    // Not even the time is expanded again.
    expect(after).toEqual(before);
    expect(stack.runsOf(tool)).toHaveLength(1);
    expect((await scene.ask('And now?')).text).toBe('I am new.');
    const newer = stack.model.requests.find(({ model }) => model === 'newer-model');
    expect(messageText(newer?.body.messages[0] ?? { role: 'system' })).toBe('New rules.');
    // The new agent has no tools, and yet the history with calls is valid.
    expect(newer?.body.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });

  test('changed while a turn runs is for the next one', async () => {
    const scene = await stack.scene(playStep(pieces(20, 10, 'old')), { systemPrompt: 'Old.' });
    const stream = await scene.say('Go.');
    await stream.until('turn.delta');
    await stack.api.putAgent(scene.agentId, { systemPrompt: 'New.', model: { name: scene.model } });
    expect((await stream.over()).types.at(-1)).toBe('done');
    await scene.ask('Again.');
    expect(messageText(scene.requests[1]?.body.messages[0] ?? { role: 'system' })).toBe('New.');
  });

  test('deleted fails the turns that come after, and the one that waits', async () => {
    const tool = await stack.tool(() => 'sent');
    const waiting = await stack.scene(callsThen([{ name: tool }], 'Sent.'), {
      tools: [tool],
      approval: { tools: ['*'] },
    });
    const interrupt = await (await waiting.ask('Send.')).until('interrupt');
    const idle = await stack.scene(playStep('Hello.'));
    await stack.api.deleteAgent(waiting.agentId);
    await stack.api.deleteAgent(idle.agentId);
    const stream = await idle.ask('Are you there?');
    expect(stream.events.at(-1)).toMatchObject({ type: 'error', data: { code: 'agent_not_found' } });
    expect(idle.requests).toEqual([]);
    await stack.api.resume(waiting.sessionId);
    const turn = await stack.api.ended(interrupt.data.turnId);
    expect(turn).toMatchObject({ status: 'FAILED', error: { code: 'agent_not_found' } });
    expect(stack.runsOf(tool)).toEqual([]);
    expect((await stack.api.session(waiting.sessionId)).state).toBe('IDLE');
    // An agent of the same name is there again, and so are its sessions.
    await stack.api.putAgent(idle.agentId, { model: { name: idle.model } });
    expect((await idle.ask('And now?')).text).toBe('Hello.');
    await stack.api.putAgent(waiting.agentId, { model: { name: idle.model } });
    expect((await waiting.ask('And now?')).text).toBe('Hello.');
  });
});
