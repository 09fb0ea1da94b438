import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { isSkipped } from '../stack/backends/is-skipped.ts';
import { withRedis } from '../stack/backends/redis.ts';
import { missingServers } from '../stack/backends/servers.ts';
import { eventually } from '../stack/eventually.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';
import { expectAnswers, startTalking, useDeployment } from '../stack/talking.ts';

// The servers behind a deployment lose their data, die and come back while turns run. What must hold then is checked by
// the stack at the end. Servers that the environment names are not ours to kill.

vi.setConfig({ testTimeout: 90_000 });

const missing = isSkipped('servers of a deployment', missingServers());
const OUTAGE_MS = 2500;

describe.skipIf(missing)('Redis', () => {
  const { stack, deployment } = useDeployment({ ...SHORT_TIMES, WORKER_CONCURRENCY: '3' });

  test('may lose everything with turns queued and running: all of them end, none twice', async (context) => {
    const { redis } = deployment().servers;
    if (redis.server === null) context.skip("REDIS_URL names somebody else's server");
    const running = await startTalking(stack, 5, 120);
    const others = await startQueued(20);
    await withRedis(redis.url, (client) => client.flushall());
    const attempts = await expectAnswers(stack, running, 120);
    expect(attempts).toEqual(running.map(() => 1));
    const ended = await Promise.all(others.map((id) => stack.api.ended(id, 60_000)));
    expect(ended.map(({ status, attempt }) => `${status} ${attempt}`)).toEqual(others.map(() => 'COMPLETED 1'));
  });

  test('may be away: what is accepted meanwhile is done when it is back', async (context) => {
    const { server } = deployment().servers.redis;
    if (server === null) return context.skip("REDIS_URL names somebody else's server");
    const running = await startTalking(stack, 3, 60);
    await server.stop('SIGKILL');
    const others = await startQueued(4);
    await sleep(OUTAGE_MS);
    await server.start();
    await expectAnswers(stack, running, 60);
    await Promise.all(others.map((id) => stack.api.ended(id, 30_000)));
    const scene = await stack.scene((_call, reply) => reply.text('Well.'));
    // With the queue back, nobody waits for the sweeper.
    await eventually(async () => expect((await scene.ask('How are you?')).text).toBe('Well.'), 15_000);
  });

  /** In sessions of their own, for which there is no free worker. */
  async function startQueued(count: number): Promise<readonly string[]> {
    const scenes = await Promise.all(
      Array.from({ length: count }, () => stack.scene((_call, reply) => reply.text('Done.'))),
    );
    const turns = await Promise.all(scenes.map(({ sessionId }) => stack.api.postTurn(sessionId, { text: 'Go.' })));
    return turns.map(({ id }) => id);
  }
});

describe.skipIf(missing)('in the middle of streams', () => {
  const { stack, deployment } = useDeployment(SHORT_TIMES);

  test('NATS may die and come back', async (context) => {
    const { server } = deployment().servers.nats;
    if (server === null) return context.skip("NATS_URL names somebody else's server");
    const talking = await startTalking(stack, 6, 120);
    await server.kill();
    await sleep(OUTAGE_MS);
    await server.start();
    await expectAnswers(stack, talking, 120);
  });

  test('the server of the store may die and come back', async (context) => {
    const { server } = deployment().servers.mongo;
    if (server === null) return context.skip("MONGODB_URL names somebody else's server");
    const talking = await startTalking(stack, 6, 120);
    await server.kill();
    await sleep(OUTAGE_MS / 3);
    await server.start();
    await expectAnswers(stack, talking, 120);
  });

  test('all of them may die at once', async (context) => {
    const { redis, nats, mongo } = deployment().servers;
    if (redis.server === null || nats.server === null || mongo.server === null) {
      return context.skip("a server is somebody else's");
    }
    const talking = await startTalking(stack, 6, 160);
    await Promise.all([redis.server.stop('SIGKILL'), nats.server.kill(), mongo.server.kill()]);
    await sleep(OUTAGE_MS);
    await Promise.all([redis.server.start(), nats.server.start(), mongo.server.start()]);
    await expectAnswers(stack, talking, 160);
    const answer = await stack.scene((_call, reply) => reply.text(pieces(3, 0).text.join('')));
    await eventually(async () => expect((await answer.ask('Well?')).types.at(-1)).toBe('done'), 20_000);
  });

  test('a gateway without the store answers 503 at once, and is not ready', async (context) => {
    const { server } = deployment().servers.mongo;
    if (server === null) return context.skip("MONGODB_URL names somebody else's server");
    const scene = await stack.scene((_call, reply) => reply.text('Done.'));
    await server.kill();
    const before = performance.now();
    const refused = await stack.api.call('POST', `/v1/sessions/${scene.sessionId}/turns`, { text: 'Go.' });
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(performance.now() - before).toBeLessThan(6000);
    expect(await stack.api.call('GET', '/readyz')).toMatchObject({ status: 503, body: { store: { ok: false } } });
    await server.start();
    await eventually(async () => expect((await stack.api.call('GET', '/readyz')).status).toBe(200), 15_000);
    expect((await scene.ask('Go.')).text).toBe('Done.');
  });
});
