import { setTimeout as sleep } from 'node:timers/promises';
import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';

describe.each(crashProfiles())('$name: a process that stands still for longer than its leases', (profile) => {
  const LEASE_MS = profile.recoversAtStart ? 600 : 1500; // servers make a lease's renewal slower
  const stack = useStack(profile, { env: { LEASE_MS: String(LEASE_MS), SWEEP_MS: '150' } });

  async function standStill(): Promise<void> {
    stack.turnwire.signal('SIGSTOP');
    await sleep(LEASE_MS * 3);
    stack.turnwire.signal('SIGCONT');
  }

  test('goes on in the middle of streams and tools, and does nothing twice', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const during = await stack.tool(() => sleep(LEASE_MS, 'while it stood still'));
    const after = await stack.tool(() => gates[1]?.promise);
    const talking = await stack.scene(playStep(pieces(60, 20)));
    const working = await stack.scene(callsThen([{ name: during }], pieces(5, 10)), { tools: [during] });
    const waiting = await stack.scene(callsThen([{ name: after }], pieces(5, 10)), { tools: [after] });
    const scenes = [talking, working, waiting];
    const followers = scenes.map(({ sessionId }) => stack.turnwire.follow(sessionId));
    const turns = await Promise.all(scenes.map(({ sessionId }) => stack.api.postTurn(sessionId, { text: 'Go.' })));
    await followers[0]?.until(({ type }) => type === 'turn.delta', 5);
    await eventually(() => expect([...stack.runsOf(during), ...stack.runsOf(after)]).toHaveLength(2));
    await standStill();
    gates[1]?.resolve('after it');
    const ended = await Promise.all(turns.map(({ id }) => stack.api.ended(id)));
    expect(ended.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
    for (const [i, follower] of followers.entries()) {
      await follower.until(({ type, data }) => type === 'done' && data.turnId === turns[i]?.id);
      follower.close();
    }
    expect([stack.runsOf(during).length, stack.runsOf(after).length]).toEqual([1, 1]);
    const [, answer] = await stack.api.messages(talking.sessionId);
    expect(answer?.content).toBe(pieces(60, 0).text.join(''));
  });

  test('again and again, with many turns, keeps all promises', async () => {
    const tool = await stack.tool(() => sleep(100, 'done'));
    const scenes = await Promise.all(
      Array.from({ length: profile.recoversAtStart ? 10 : 5 }, () =>
        stack.scene(callsThen([{ name: tool }], pieces(30, 15)), { tools: [tool] }),
      ),
    );
    const followers = scenes.map(({ sessionId }) => stack.turnwire.follow(sessionId));
    const posts = scenes.flatMap(({ sessionId }) => [sessionId, sessionId]);
    const turns = await Promise.all(posts.map((sessionId) => stack.api.postTurn(sessionId, { text: 'Go.' })));
    await sleep(60);
    await standStill();
    await sleep(300);
    await standStill();
    const ended = await Promise.all(turns.map(({ id }) => stack.api.ended(id, 40_000)));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['COMPLETED']));
    await Promise.all(followers.map((follower) => follower.until(({ type }) => type === 'done', 2)));
    for (const follower of followers) follower.close();
  }, 90_000);
});
