import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { callsThen } from '../stack/answers.ts';
import { isSkipped } from '../stack/backends/is-skipped.ts';
import { missingServers } from '../stack/backends/servers.ts';
import { createClient } from '../stack/client.ts';
import { eventually } from '../stack/eventually.ts';
import { freePort, type ServerProcess } from '../stack/server-process.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';
import type { Service } from '../stack/start-distributed.ts';
import { expectAnswers, type Followed, startTalking, useDeployment } from '../stack/talking.ts';

// Single processes of a deployment die, stand still or are told to end, while the others go on. What must hold then is
// checked by the stack at the end.

vi.setConfig({ testTimeout: 90_000 });

const LEASE_MS = Number(SHORT_TIMES.LEASE_MS);

async function end(process: ServerProcess | undefined, signal: NodeJS.Signals) {
  if (process === undefined) throw new Error('There is no such process.');
  process.signal(signal);
  return process.exited;
}

describe.skipIf(isSkipped('processes of a deployment', missingServers()))('of several processes', () => {
  const { stack, deployment } = useDeployment(SHORT_TIMES);
  const newest = (service: Service) => deployment().of(service).at(-1);

  test('a worker that is killed in the middle of its streams is replaced by the other one', async () => {
    const talking = await startTalking(stack, 8, 160);
    const [first, second] = deployment().of('agent-worker');
    await end(first, 'SIGKILL');
    await sleep(300);
    await deployment().addOne('agent-worker');
    await end(second, 'SIGKILL');
    await deployment().addOne('agent-worker');
    const attempts = await expectAnswers(stack, talking, 160);
    // Between them, the two had all turns.
    expect(attempts.every((attempt) => attempt > 1)).toBe(true);
  });

  test('workers that stand still for two leases and go on write nothing and show nothing', async () => {
    const talking = await startTalking(stack, 6, 200);
    const stalled = deployment().of('agent-worker').slice(-2);
    await deployment().addOne('agent-worker');
    for (const process of stalled) process.signal('SIGSTOP');
    await sleep(LEASE_MS * 2);
    await Promise.all(talking.map(({ follower }) => follower.until(({ type }) => type === 'turn.reset')));
    for (const process of stalled) process.signal('SIGCONT');
    const attempts = await expectAnswers(stack, talking, 200);
    expect(attempts.every((attempt) => attempt > 1)).toBe(true);
    // The calls to the model that they had open were ended by them, and not only by their answers' ends.
    for (const { scene } of talking) expect(scene.requests.map(({ state }) => state)).toEqual(['aborted', 'finished']);
  });

  test('a worker that is told to end in the middle of a long tool hands its turn over', async () => {
    const tool = await stack.tool(
      ({ idempotencyKey, signal }) => (runs() === 1 ? hang(signal) : { key: idempotencyKey }),
      { idempotent: true, timeoutMs: 600_000 },
    );
    const runs = () => stack.runsOf(tool).length;
    const scene = await stack.scene(callsThen([{ name: tool }], 'Done.'), { tools: [tool], toolTimeoutMs: 600_000 });
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go.' });
    await eventually(() => expect(runs()).toBe(1));
    const workers = deployment().of('agent-worker').slice(-3);
    await deployment().addOne('agent-worker');
    const exits = await Promise.all(workers.map((worker) => end(worker, 'SIGTERM')));
    expect(exits).toEqual(workers.map(() => ({ code: 0, signal: null })));
    expect(await stack.api.ended(turn.id, 15_000)).toMatchObject({ status: 'COMPLETED', attempt: 1 });
    expect(runs()).toBe(2);
  });

  test('a gateway that is killed leaves its clients another one, by Last-Event-ID', async () => {
    await deployment().addOne('agent-worker');
    const PORT = String(await freePort());
    const [first] = deployment().of('gateway');
    await deployment().addOne('gateway', { PORT });
    const other = createClient(`http://127.0.0.1:${PORT}`, null);
    const talking = await startTalking(stack, 4);
    const before = await Promise.all(
      talking.map(async ({ scene }) => {
        const stream = await stack.turnwire.stream(`/v1/sessions/${scene.sessionId}/events?after=0`);
        await stream.until('turn.delta', 20);
        return stream;
      }),
    );
    await end(first, 'SIGKILL');
    for (const [i, stream] of before.entries()) {
      await stream.over();
      const { scene, turnId } = talking[i] as Followed;
      const rest = await other.stream(`/v1/sessions/${scene.sessionId}/events`, {
        headers: { 'last-event-id': String(stream.ids.at(-1)) },
      });
      await rest.until(({ type, data }) => type === 'done' && data.turnId === turnId, 1, 30_000);
      const prevs = [...stream.events, ...rest.events].filter(({ id }) => id !== null);
      for (const [k, { data }] of prevs.entries()) expect(data.prev).toBe(prevs[k - 1]?.id ?? 0);
      rest.close();
    }
    // Followers insist on the address that they know.
    await deployment().addOne('gateway');
    await expectAnswers(stack, talking);
    other.close();
  });

  test('a worker that nobody needs ends at once, and so does a memory worker', async () => {
    for (const service of ['memory-worker', 'agent-worker'] as const) {
      await deployment().addOne(service);
      const before = performance.now();
      expect(await end(newest(service), 'SIGTERM')).toEqual({ code: 0, signal: null });
      expect(performance.now() - before).toBeLessThan(4000);
    }
  });
});

function hang(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}
