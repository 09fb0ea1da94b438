import { setTimeout as sleep } from 'node:timers/promises';
import { type ChatMessage, messageText } from '@turnwire/demo-model/chat-request';
import type { ModelHandler } from '@turnwire/demo-model/model-handler';
import { byConversation, type Step } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { type FlowStack, type Scene, useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { createRandom } from '../stack/random.ts';

// Many clients do what they like, all at once, while the process is killed, stopped and told to end. Nobody foresees
// what comes of it, but that it keeps every promise: that is checked by the stack at the end.

const SESSIONS = 14;
const { STORM_SEED = '20260101' } = process.env;

interface Tools {
  readonly careful: string;
  readonly repeatable: string;
  readonly guarded: string;
}

/** What the model does is decided by the conversation, so that it is the same after a crash. */
function answerTo({ careful, repeatable, guarded }: Tools, messages: readonly ChatMessage[]): Step {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const plan = messageText(messages[asked] ?? { role: 'user' });
  const steps = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
  const say = pieces(4, 8, `${plan}-${steps}-`);
  if (steps === 0 && plan.includes('tools')) {
    return { ...say, toolCalls: [{ name: careful }, { name: repeatable }, { name: 'unknown_tool' }] };
  }
  if (steps === 0 && plan.includes('guarded')) return { ...say, toolCalls: [{ name: guarded }, { name: careful }] };
  if (plan.includes('endless')) return pieces(400, 8, plan);
  return say;
}

/** One request in nine breaks: refused, cut in the middle, or ended too early. */
function unreliable(answer: ModelHandler, random: () => number): ModelHandler {
  return async (call, reply) => {
    const luck = random();
    if (luck < 0.04) return reply.status(503, { 'retry-after-ms': '20' });
    if (luck < 0.11) {
      await reply.text('This is ');
      return luck < 0.08 ? reply.cut() : reply.fin();
    }
    return answer(call, reply);
  };
}

async function createScenes(stack: FlowStack, random: () => number): Promise<readonly Scene[]> {
  const tools = {
    careful: await stack.tool(() => sleep(15, 'careful')),
    repeatable: await stack.tool(({ idempotencyKey }) => sleep(15, { key: idempotencyKey }), { idempotent: true }),
    guarded: await stack.tool(() => sleep(15, 'guarded')),
  };
  const handler = unreliable(
    byConversation((messages) => answerTo(tools, messages)),
    random,
  );
  const settings = { tools: Object.values(tools), approval: { tools: [tools.guarded], ttlSeconds: 1 } };
  return Promise.all(Array.from({ length: SESSIONS }, () => stack.scene(handler, settings)));
}

/** Does one thing to a session. Refusals, and a server that is away, are part of life. */
async function actOn({ api, turnwire }: FlowStack, sessionId: string, random: () => number, n: number): Promise<void> {
  const luck = random();
  const onBusy = (['enqueue', 'reject', 'interrupt', 'rollback'] as const)[Math.floor(random() * 4)] ?? 'enqueue';
  const plan = ['plain', 'tools', 'guarded', 'endless'][Math.floor(random() * 4)];
  const input = { text: `${plan} ${n}`, onBusy };
  if (luck < 0.45) await api.postTurn(sessionId, input);
  else if (luck < 0.55) await turnwire.streamTurn(sessionId, input).then((stream) => random() < 0.5 && stream.close());
  else if (luck < 0.75) await api.resume(sessionId, random() < 0.6 ? undefined : { action: 'reject' });
  else if (luck < 0.9) await api.cancelSession(sessionId);
  else await Promise.all([api.postTurn(sessionId, input), api.cancelSession(sessionId), api.resume(sessionId)]);
}

describe.each(crashProfiles())('$name: a storm', (profile) => {
  const roundMs = profile.recoversAtStart ? 1300 : 2000;
  const LEASE_MS = profile.recoversAtStart ? '900' : '1500';
  const stack = useStack(profile, { env: { LEASE_MS, SWEEP_MS: '150', DRAIN_MS: '300' } });

  test(`leaves everything in order (seed ${STORM_SEED})`, async () => {
    const random = createRandom(Number(STORM_SEED));
    const scenes = await createScenes(stack, random);
    const followers = scenes.map(({ sessionId }) => stack.turnwire.follow(sessionId));
    let over = false;
    let done = 0;
    const drivers = scenes.map(async ({ sessionId }, i) => {
      for (let n = 0; !over; n += 1) {
        await actOn(stack, sessionId, random, i * 1000 + n).then(
          () => {
            done += 1;
          },
          () => sleep(20),
        );
        await sleep(random() * 120);
      }
    });
    for (const blow of ['SIGKILL', 'SIGSTOP', 'SIGTERM', 'SIGKILL', 'SIGKILL'] as const) {
      await sleep(roundMs * (0.5 + random()));
      if (blow === 'SIGSTOP') {
        stack.turnwire.signal('SIGSTOP');
        await sleep(1500);
        stack.turnwire.signal('SIGCONT');
      } else {
        await stack.turnwire.kill(blow);
        await stack.turnwire.restart();
      }
    }
    over = true;
    await Promise.all(drivers);
    expect(done).toBeGreaterThan(SESSIONS * 3);
    await Promise.all(
      scenes.map((scene) =>
        eventually(async () => {
          await stack.api.cancelSession(scene.sessionId);
          expect((await stack.api.session(scene.sessionId)).state).toBe('IDLE');
        }, 20_000),
      ),
    );
    const last = await Promise.all(scenes.map((scene) => scene.ask('plain and last')));
    expect(last.map(({ types }) => types.at(-1))).toEqual(Array(SESSIONS).fill('done'));
    for (const [i, follower] of followers.entries()) {
      await follower.until(({ id }) => id === last[i]?.ids.at(-1));
      follower.close();
    }
    // A calm day would prove nothing.
    const seen = new Set(followers.flatMap(({ events }) => events.map(({ type }) => type)));
    const rare = profile.recoversAtStart ? ['tool.result', 'interrupt', 'turn.resumed'] : []; // where there is less time
    for (const type of ['turn.reset', 'done', 'cancelled', ...rare]) {
      expect(seen).toContain(type);
    }
    const attempts = followers.flatMap((follower) => follower.of('turn.started').map(({ data }) => data.attempt));
    if (profile.recoversAtStart) expect(Math.max(...attempts)).toBeGreaterThan(1);
  }, 90_000);
});
