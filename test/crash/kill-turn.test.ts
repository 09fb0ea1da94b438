import { setTimeout as sleep } from 'node:timers/promises';
import { byConversation } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { type FlowStack, type Scene, useStack } from '../stack/flow-stack.ts';
import type { Follower } from '../stack/follower.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';

// A turn of text, two tools at once, and text again, with kill -9 at every moment of it. What must hold then is checked
// by the stack, after all of it: nothing lost, nothing twice, and no client with another text than the stored one.

const FIRST = pieces(5, 10, 'first');
const SECOND = pieces(6, 10, 'second');
/** Of a whole turn but its last: its start, two steps, their text, two calls and their results. */
const EVENTS = 1 + 2 + 5 + 6 + 2 + 2;

interface Tools {
  readonly careful: string;
  readonly repeatable: string;
}

async function registerTools(stack: FlowStack): Promise<Tools> {
  return {
    careful: await stack.tool(() => sleep(50, 'paid')),
    repeatable: await stack.tool(({ idempotencyKey }) => sleep(50, { key: idempotencyKey }), { idempotent: true }),
  };
}

/** Answers by the conversation, so that what is asked again after a crash is answered alike. */
function startScene(stack: FlowStack, { careful, repeatable }: Tools): Promise<Scene> {
  const calls = [{ name: careful }, { name: repeatable }];
  const handler = byConversation((messages) =>
    messages.at(-1)?.role === 'tool' ? SECOND : { ...FIRST, toolCalls: calls },
  );
  return stack.scene(handler, { tools: [careful, repeatable] });
}

/**
 * The turn came to its answer. The tool that must not run twice ran once, or was marked as started by a worker that died
 * before it could call it; the model knows as much as that.
 */
async function expectAnswer(stack: FlowStack, tools: Tools, scene: Scene, follower: Follower, turnId: string) {
  const turn = await stack.api.ended(turnId, 40_000);
  expect(turn).toMatchObject({ status: 'COMPLETED', steps: 2 });
  await follower.until(({ type, data }) => type === 'done' && data.turnId === turnId, 1, 40_000);
  const messages = await stack.api.messages(scene.sessionId);
  const mine = messages.filter((message) => message.turnId === turnId);
  expect(mine.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant']);
  expect([mine[1]?.content, mine[4]?.content]).toEqual([FIRST.text.join(''), SECOND.text.join('')]);
  const runs = stack.runsOf(tools.careful).filter((run) => run.turnId === turnId);
  const told = mine.find(({ toolCallId }) => toolCallId === mine[1]?.toolCalls?.[0]?.id)?.content;
  expect(runs.length).toBeLessThan(2);
  expect(told).toMatch(runs.length === 0 ? /unknown/ : /unknown|^"paid"$/);
  return turn;
}

describe.each(crashProfiles())('$name: kill -9', (profile) => {
  const stack = useStack(profile, { env: { ...SHORT_TIMES, LEASE_MS: profile.recoversAtStart ? '5000' : '3000' } });
  // Where each death costs a lease, some of them have to do.
  const every = profile.recoversAtStart ? 1 : 3;

  const count = profile.recoversAtStart ? 30 : 12;

  test(`with ${count} turns at as many places loses none of them`, async () => {
    const tools = await registerTools(stack);
    for (const killAfter of [0.25, 0.5, 0.8].map((share) => count * share)) {
      const scenes = await Promise.all(Array.from({ length: count }, () => startScene(stack, tools)));
      const followers = scenes.map(({ sessionId }) => stack.turnwire.follow(sessionId));
      const accepted = new Map<string, string>();
      const posts = Promise.allSettled(
        scenes.map(async ({ sessionId }, i) => {
          await sleep(i * 9);
          accepted.set(sessionId, (await stack.api.postTurn(sessionId, { text: 'Go.' })).id);
        }),
      );
      await eventually(() => expect(accepted.size).toBeGreaterThanOrEqual(killAfter));
      await stack.turnwire.kill('SIGKILL');
      await posts;
      await stack.turnwire.restart();
      await Promise.all(
        scenes.map(async (scene, i) => {
          const follower = followers[i] as Follower;
          const turnId = accepted.get(scene.sessionId);
          if (turnId !== undefined)
            expect((await expectAnswer(stack, tools, scene, follower, turnId)).attempt).toBeLessThan(3);
          follower.close();
        }),
      );
    }
  }, 120_000);

  test(`after every ${every === 1 ? 'single' : 'third'} event of a turn lets it go on where it was`, async () => {
    const tools = await registerTools(stack);
    const attempts: number[] = [];
    for (let n = 1; n <= EVENTS; n += every) {
      const scene = await startScene(stack, tools);
      const follower = stack.turnwire.follow(scene.sessionId);
      const turn = await stack.api.postTurn(scene.sessionId, { text: `Die after ${n}.` });
      await follower.until(() => true, n);
      await stack.turnwire.kill('SIGKILL');
      await stack.turnwire.restart();
      attempts.push((await expectAnswer(stack, tools, scene, follower, turn.id)).attempt);
      follower.close();
      // And the session can be used.
      if (n % 5 === 0) expect((await scene.ask('Again.')).types.at(-1)).toBe('done');
    }
    // It was not always over already.
    expect(attempts.filter((attempt) => attempt === 2).length).toBeGreaterThan(10 / every);
  }, 120_000);
});
