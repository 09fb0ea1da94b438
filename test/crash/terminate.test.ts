import { setTimeout as sleep } from 'node:timers/promises';
import { messageText } from '@turnwire/demo-model/chat-request';
import { byConversation, playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { eventually } from '../stack/eventually.ts';
import { useStack } from '../stack/flow-stack.ts';
import { crashProfiles } from '../stack/profiles.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';

const DRAIN_MS = 600;
/** What the parts may need beyond the drain; the process itself gives up after 10 s. */
const CLOSING_MS = 3000;

describe.each(crashProfiles())('$name: SIGTERM', (profile) => {
  const stack = useStack(profile, { env: { ...SHORT_TIMES, DRAIN_MS: String(DRAIN_MS) } });

  async function terminate(): Promise<number> {
    const before = performance.now();
    expect(await stack.turnwire.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    return performance.now() - before;
  }

  test('in the middle of a stream hands the turn over: not a failure, not an attempt', async () => {
    const scene = await stack.scene(playStep(pieces(120, 20)));
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Count.' });
    await follower.until(({ type }) => type === 'turn.delta', 5);
    const tookMs = await terminate();
    expect(tookMs).toBeGreaterThan(DRAIN_MS - 50);
    expect(tookMs).toBeLessThan(DRAIN_MS + CLOSING_MS);
    expect(scene.requests[0]?.state).toBe('aborted');
    await stack.turnwire.restart();
    expect(await stack.api.ended(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    await follower.until(({ type }) => type === 'done');
    follower.close();
    expect(follower.of('turn.reset').map(({ data }) => data.step)).toEqual([1]);
    expect(follower.of('turn.started')).toHaveLength(1);
    expect(follower.connections).toBeGreaterThan(1);
  });

  test('in the middle of a tool that takes ten minutes does not wait for it', async () => {
    const tool = await stack.tool(() => new Promise(() => undefined), { timeoutMs: 600_000 });
    let calls = 0;
    const repeatable = await stack.tool(
      ({ idempotencyKey }) => {
        calls += 1;
        return calls === 1 ? new Promise(() => undefined) : { key: idempotencyKey };
      },
      { timeoutMs: 600_000, idempotent: true },
    );
    const scene = await stack.scene(callsThen([{ name: tool }, { name: repeatable }], 'Done.'), {
      tools: [tool, repeatable],
    });
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go.' });
    await eventually(() => expect([...stack.runsOf(tool), ...stack.runsOf(repeatable)]).toHaveLength(2));
    expect(await terminate()).toBeLessThan(DRAIN_MS + CLOSING_MS);
    expect(stack.runsOf(tool)[0]?.outcome).toBe('aborted');
    await stack.turnwire.restart();
    expect(await stack.api.ended(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect([stack.runsOf(tool).length, stack.runsOf(repeatable).length]).toEqual([1, 2]);
    const results = scene.requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role === 'tool')
      .map(messageText);
    expect(results?.[0]).toContain('unknown');
  });

  test('lets a turn come to its end that needs no longer than the drain, with its reader connected', async () => {
    const tool = await stack.tool(() => sleep(200, 'slept'));
    const scene = await stack.scene(callsThen([{ name: tool }], pieces(5, 10)), { tools: [tool] });
    const stream = await scene.say('Go.');
    await stream.until('tool.call');
    const tookMs = await terminate();
    expect(tookMs).toBeLessThan(DRAIN_MS + CLOSING_MS);
    await stream.over();
    expect([stream.end, stream.types.at(-1)]).toEqual(['server', 'done']);
    expect(stack.runsOf(tool)).toHaveLength(1);
    await stack.turnwire.restart();
    const turn = await stack.api.turn(stream.events[0]?.data.turnId);
    expect(turn).toMatchObject({ status: 'COMPLETED', attempt: 1 });
  });

  test('with nothing to do ends at once', async () => {
    expect(await terminate()).toBeLessThan(CLOSING_MS);
    await stack.turnwire.restart();
  });

  test('again and again does not use up the attempts of a turn', async () => {
    const handler = byConversation((messages) => (messages.length > 1 ? 'Later.' : pieces(60, 20)));
    const scene = await stack.scene(handler);
    const follower = stack.turnwire.follow(scene.sessionId);
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Count.' });
    const queued = await stack.api.postTurn(scene.sessionId, { text: 'Next.' });
    for (let n = 1; n <= 6; n += 1) {
      await follower.until(({ type }) => type === 'step.started', n);
      await terminate();
      await stack.turnwire.restart();
    }
    expect(await stack.api.ended(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect(await stack.api.ended(queued.id)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    follower.close();
  }, 90_000);

  test('begins nothing more, says so, and loses nothing that was accepted before', async () => {
    const { api } = stack;
    const scenes = await Promise.all(Array.from({ length: 4 }, () => stack.scene(playStep('Yes.'))));
    const busy = await stack.scene(playStep(pieces(200, 20)));
    const stream = await busy.say('Count.');
    await stream.until('turn.delta');
    const before = await Promise.all(
      scenes.map(({ sessionId }) => api.postTurn(sessionId, { text: 'Are you there?' })),
    );
    const exit = stack.turnwire.kill('SIGTERM');
    await eventually(async () => {
      expect(await api.call('GET', '/readyz')).toMatchObject({ status: 503, body: { status: 'stopping' } });
    }, DRAIN_MS);
    const deltas = stream.of('turn.delta').length;
    for (const path of ['turns', 'resume']) {
      const { status, body, headers } = await api.call('POST', `/v1/sessions/${busy.sessionId}/${path}`, {
        text: 'Go on.',
      });
      expect([status, body.code, Number(headers.get('retry-after')) > 0]).toEqual([503, 'unavailable', true]);
    }
    expect((await api.call('POST', '/v1/sessions', { agentId: busy.agentId, userId: 'ada' })).status).toBe(503);
    expect((await api.session(busy.sessionId)).turnCount).toBe(1);
    await stream.until('turn.delta', deltas + 1); // what has begun goes on
    expect((await exit).code).toBe(0);
    await stack.turnwire.restart();
    const ended = await Promise.all(before.map(({ id }) => api.ended(id)));
    expect(ended.map(({ status }) => status)).toEqual(before.map(() => 'COMPLETED'));
    await api.cancelSession(busy.sessionId);
  });
});
