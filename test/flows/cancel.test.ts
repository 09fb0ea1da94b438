import { setTimeout as sleep } from 'node:timers/promises';
import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const HANG = playStep({ ending: 'hang' });
const ENDLESS = playStep(pieces(3000, 8));

describe.each(profiles())('$name: a cancel', (profile) => {
  const stack = useStack(profile);

  test.each([0, 5, 20, 50, 200])('%i ms after the turn ends it at once', async (ms) => {
    // A model that hangs before its first byte, and one that talks without end.
    for (const handler of [HANG, ENDLESS]) {
      const scene = await stack.scene(handler);
      const follower = stack.turnwire.follow(scene.sessionId);
      const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go' });
      if (ms > 0) await sleep(ms);
      const cancelledAt = Date.now();
      await stack.api.cancelTurn(turn.id);
      const ended = await stack.api.ended(turn.id, 1500);
      expect(ended).toMatchObject({ status: 'CANCELLED', error: null });
      const { data } = await follower.until(({ type }) => type === 'cancelled');
      expect(data).toMatchObject({ turnId: turn.id, reason: 'requested' });
      follower.close();
      await stack.api.reaches(scene.sessionId, 'IDLE', 500);
      const [request] = scene.requests;
      if (request !== undefined) {
        expect(request.state).toBe('aborted');
        expect((request.abortedAt ?? 0) - cancelledAt).toBeLessThan(1000);
      }
      const shown = follower
        .of('turn.delta')
        .map((event) => event.data.text)
        .join('');
      const messages = await stack.api.messages(scene.sessionId);
      const partial = messages.find(({ role }) => role === 'assistant');
      expect(partial?.content ?? '').toBe(shown);
      expect(partial?.status ?? 'partial').toBe('partial');
      if (ms === 200 && handler === ENDLESS) expect(shown).not.toBe('');
      const { length } = scene.requests;
      await sleep(100);
      expect(scene.requests).toHaveLength(length);
    }
  });

  test('before the turn has begun lets it call no model', async () => {
    const scene = await stack.scene(ENDLESS);
    const first = await scene.say('Go');
    await first.until('turn.delta');
    const second = await stack.api.postTurn(scene.sessionId, { text: 'Next' });
    const third = await stack.api.postTurn(scene.sessionId, { text: 'After' });
    // In the middle of the line: at once, and told on the stream although another turn runs.
    const follower = stack.turnwire.follow(scene.sessionId);
    expect(await stack.api.cancelTurn(second.id)).toMatchObject({ status: 'CANCELLED' });
    const { data } = await follower.until(({ type }) => type === 'cancelled');
    expect(data.turnId).toBe(second.id);
    expect((await stack.api.turn(first.events[0]?.data.turnId)).status).toBe('RUNNING');
    // And the head of the line, in the same moment as the one before it ends.
    await Promise.all([stack.api.cancelTurn(third.id), stack.api.cancelSession(scene.sessionId)]);
    await stack.api.ended(third.id);
    await first.over();
    await follower.until(({ type }) => type === 'cancelled', 3);
    follower.close();
    expect(scene.requests).toHaveLength(1);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ content }) => content)).toEqual(['Go', first.text]);
    expect(await stack.api.session(scene.sessionId)).toMatchObject({ state: 'IDLE', turnCount: 3 });
  });

  test('stops the tools that run, answers their calls, and the next turn works', async () => {
    const quick = await stack.tool(() => 'quick');
    const slow = await stack.tool(() => new Promise(() => undefined));
    const scene = await stack.scene(callsThen([{ name: quick }, { name: slow }], 'Well.'), { tools: [quick, slow] });
    const stream = await scene.say('Go');
    await stream.until('tool.result');
    const cancelledAt = Date.now();
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    expect(stream.types.slice(-2)).toEqual(['tool.result', 'cancelled']);
    const [run] = stack.runsOf(slow);
    expect(run?.outcome).toBe('aborted');
    expect((run?.endedAt ?? 0) - cancelledAt).toBeLessThan(1000);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.slice(2).map(({ content, status }) => [content, status])).toEqual([
      ['"quick"', undefined],
      [expect.stringContaining('unknown'), 'error'],
    ]);
    // Its model finds the calls of the first turn answered.
    const next = await scene.say('And now?');
    await next.until('tool.result');
    await stack.api.cancelSession(scene.sessionId);
    expect((await next.over()).types.at(-1)).toBe('cancelled');
  });

  test('keeps the partial text, which the next turn reads', async () => {
    const scene = await stack.scene(ENDLESS);
    const stream = await scene.say('Count');
    await stream.until('turn.delta', 5);
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    expect(stream.events.at(-1)).toMatchObject({ type: 'cancelled', data: { reason: 'requested' } });
    const again = await scene.say('Go on');
    await again.until('turn.delta');
    expect(scene.requests[1]?.body.messages).toEqual([
      { role: 'user', content: 'Count' },
      { role: 'assistant', content: stream.text },
      { role: 'user', content: 'Go on' },
    ]);
    await stack.api.cancelSession(scene.sessionId);
    await again.over();
  });

  test('repeated, late, or of nothing has no effect', async () => {
    const scene = await stack.scene(playStep('Done.'));
    expect((await stack.api.cancelSession(scene.sessionId)).state).toBe('IDLE');
    const stream = await scene.ask('Go');
    const turnId = stream.events[0]?.data.turnId;
    expect((await stack.api.cancelTurn(turnId)).status).toBe('COMPLETED');
    expect((await stack.api.cancelSession(scene.sessionId)).state).toBe('IDLE');
    expect((await stack.api.turn(turnId)).status).toBe('COMPLETED');
  });

  test('given 20 times at once ends the turn once', async () => {
    const scene = await stack.scene(ENDLESS);
    const stream = await scene.say('Go');
    await stream.until('turn.delta');
    const turnId = stream.events[0]?.data.turnId;
    await Promise.all(Array.from({ length: 20 }, () => stack.api.cancelTurn(turnId)));
    await stream.over();
    expect(stream.of('cancelled')).toHaveLength(1);
  });

  test('while the model is asked again after a failure ends the waiting', async () => {
    const scene = await stack.scene(playStep({ status: 429, headers: { 'retry-after': '30' } }));
    const stream = await scene.say('Go');
    await stack.model.waitForRequest({ model: scene.model, state: 'finished' });
    const before = performance.now();
    await stack.api.cancelSession(scene.sessionId);
    await stream.over();
    expect(performance.now() - before).toBeLessThan(1000);
    expect(stream.types.at(-1)).toBe('cancelled');
    expect(scene.requests).toHaveLength(1);
  });
});

describe.each(profiles())('$name: a cancel while all workers are busy', (profile) => {
  const stack = useStack(profile, { env: { WORKER_CONCURRENCY: '1' } });

  /** Gives each worker a turn without end; answers how to cancel these. */
  async function keepAllBusy(): Promise<() => Promise<unknown>> {
    const busy = await Promise.all(Array.from({ length: profile.agentWorkers }, () => stack.scene(ENDLESS)));
    await Promise.all(busy.map(async (scene) => (await scene.say('Go')).until('turn.delta')));
    return () => Promise.all(busy.map(({ sessionId }) => stack.api.cancelSession(sessionId)));
  }

  test('is kept until one is free, and no model is called', async () => {
    const free = await keepAllBusy();
    const scene = await stack.scene(playStep('Never said.'));
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go' });
    expect((await stack.api.cancelTurn(turn.id)).status).toBe('QUEUED');
    const next = await scene.say('And this?');
    await free();
    expect((await stack.api.ended(turn.id)).status).toBe('CANCELLED');
    expect((await next.over()).text).toBe('Never said.');
    expect(scene.requests.map(({ body }) => body.messages)).toEqual([[{ role: 'user', content: 'And this?' }]]);
  });

  test('of the first turn of a task leaves the task open', async () => {
    const free = await keepAllBusy();
    const scene = await stack.scene(playStep('Done.'), { mode: 'task' });
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go' });
    await stack.api.cancelTurn(turn.id);
    await free();
    expect((await stack.api.ended(turn.id)).status).toBe('CANCELLED');
    await stack.api.reaches(scene.sessionId, 'IDLE');
    await scene.ask('Go on');
    expect((await stack.api.session(scene.sessionId)).state).toBe('COMPLETED');
  });
});
