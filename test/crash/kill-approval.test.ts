import { setTimeout as sleep } from 'node:timers/promises';
import { messageText } from '@turnwire/demo-model/chat-request';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import type { Follower } from '../stack/follower.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';

const AFTER = pieces(5, 10);

describe.each(crashProfiles())('$name: kill -9 around an approval', (profile) => {
  const stack = useStack(profile, { env: SHORT_TIMES });

  async function start() {
    const tool = await stack.tool(({ arguments: { to } }) => sleep(40, { sent: to }));
    const calls = ['ann', 'bob'].map((to, i) => ({ id: `call_${'ab'[i]}`, name: tool, arguments: { to } }));
    const scene = await stack.scene(callsThen(calls, AFTER), { tools: [tool], approval: { tools: [tool] } });
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Send both.' });
    return { tool, scene, follower, turnId: turn.id };
  }

  const seen = (follower: Follower, type: string) => follower.until((event) => event.type === type);

  async function crash(): Promise<void> {
    await stack.turnwire.kill('SIGKILL');
    await stack.turnwire.restart();
  }

  /** What ran, and what the model was told, of a turn that asked once, was resumed once and came to its end. */
  async function ended({ tool, scene, follower, turnId }: Awaited<ReturnType<typeof start>>) {
    expect((await stack.api.ended(turnId)).status).toBe('COMPLETED');
    await seen(follower, 'done');
    expect(follower.of('interrupt')).toHaveLength(1);
    expect(follower.of('turn.resumed')).toHaveLength(1);
    expect(follower.of('tool.result')).toHaveLength(2);
    follower.close();
    const runs = stack.runsOf(tool).map((run) => run.arguments.to);
    const results = scene.requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role === 'tool')
      .map(messageText);
    expect(results).toHaveLength(2);
    return { runs, results: results ?? [] };
  }

  test.each(profile.recoversAtStart ? [0, 5, 15, 30, 60] : [0, 30])(
    '%i ms after the turn was accepted: it asks once, and nothing has run',
    async (ms) => {
      const waiting = await start();
      await sleep(ms);
      await crash();
      const turn = await stack.api.settled(waiting.turnId);
      expect(turn.status).toBe('WAITING');
      await seen(waiting.follower, 'interrupt');
      expect(stack.runsOf(waiting.tool)).toEqual([]);
      const { interrupt } = await stack.api.session(waiting.scene.sessionId);
      expect(waiting.follower.of('interrupt')[0]?.data.interruptId).toBe(interrupt?.id);
      await stack.api.resume(waiting.scene.sessionId);
      const { runs, results } = await ended(waiting);
      expect(runs.toSorted()).toEqual(['ann', 'bob']);
      expect(results).toEqual(['{"sent":"ann"}', '{"sent":"bob"}']);
    },
  );

  test('right after a part of the decisions keeps that part', async () => {
    const waiting = await start();
    await seen(waiting.follower, 'interrupt');
    const decisions = { call_b: { action: 'reject' as const, reason: 'Not Bob.' } };
    expect((await stack.api.resume(waiting.scene.sessionId, { decisions })).status).toBe(200);
    await crash();
    expect((await stack.api.session(waiting.scene.sessionId)).state).toBe('WAITING');
    await stack.api.resume(waiting.scene.sessionId, { decisions: { call_a: { action: 'approve' } } });
    const { runs, results } = await ended(waiting);
    expect(runs).toEqual(['ann']);
    expect(results[1]).toContain('Not Bob.');
  });

  test('right after a cancel of the turn behind it tells of that cancel, and goes on waiting', async () => {
    const waiting = await start();
    await seen(waiting.follower, 'interrupt');
    const behind = await stack.api.postTurn(waiting.scene.sessionId, { text: 'Next.' });
    await stack.api.cancelTurn(behind.id);
    await crash();
    await waiting.follower.until(({ type, data }) => type === 'cancelled' && data.turnId === behind.id);
    expect((await stack.api.session(waiting.scene.sessionId)).state).toBe('WAITING');
    await stack.api.resume(waiting.scene.sessionId);
    expect((await ended(waiting)).runs).toHaveLength(2);
  });

  test.each(profile.recoversAtStart ? [0, 10, 25, 50, 90, 130] : [0, 25, 90])(
    '%i ms after the last decision carries it out, once',
    async (ms) => {
      const waiting = await start();
      await seen(waiting.follower, 'interrupt');
      const answer = await stack.api.resume(waiting.scene.sessionId, undefined, { 'idempotency-key': `resume ${ms}` });
      expect(answer.status).toBe(202);
      await sleep(ms);
      await crash();
      const { runs, results } = await ended(waiting);
      for (const [i, to] of ['ann', 'bob'].entries()) {
        // One that was marked as started by a worker that died then may never have been called; it is not called now.
        const ran = runs.filter((one) => one === to).length;
        expect(ran).toBeLessThan(2);
        expect(results[i]).toMatch(ran === 0 ? /unknown/ : new RegExp(`unknown|^{"sent":"${to}"}$`));
      }
      // The person's client did not get the answer and asks again: it is the same one.
      const again = await stack.api.resume(waiting.scene.sessionId, undefined, { 'idempotency-key': `resume ${ms}` });
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
      await eventually(async () => expect((await stack.api.session(waiting.scene.sessionId)).state).toBe('IDLE'));
    },
  );
});
