import { setTimeout as sleep } from 'node:timers/promises';
import { byConversation } from '@turnwire/demo-model/script';
import { describe, expect, test, vi } from 'vitest';
import { pieces } from '../stack/answers.ts';
import { isSkipped } from '../stack/backends/is-skipped.ts';
import { missingServers } from '../stack/backends/servers.ts';
import { createRandom } from '../stack/random.ts';
import type { ServerProcess } from '../stack/server-process.ts';
import { SHORT_TIMES } from '../stack/short-times.ts';
import type { Service } from '../stack/start-distributed.ts';
import { useDeployment } from '../stack/talking.ts';

// Turns keep coming while single processes are killed at random, of every service, again and again. What must hold then
// is checked by the stack at the end. `CHAOS_TURNS=500` for a long run, `CHAOS_SEED` for another order of deaths.

const TURNS = Number(process.env.CHAOS_TURNS ?? 40);
const SEED = Number(process.env.CHAOS_SEED ?? 20260101);
const AT_ONCE = 12;
const SERVICES: readonly Service[] = ['agent-worker', 'agent-worker', 'memory-worker', 'gateway'];

vi.setConfig({ testTimeout: 60_000 + TURNS * 1_000, hookTimeout: 120_000 });

describe.skipIf(isSkipped('chaos among processes', missingServers()))('chaos', () => {
  const { stack, deployment } = useDeployment({ ...SHORT_TIMES, LEASE_MS: '2500' });

  test(`of ${TURNS} turns each ends once, whoever is killed (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const careful = await stack.tool(() => sleep(30, 'paid'));
    const repeatable = await stack.tool(({ idempotencyKey }) => sleep(30, { key: idempotencyKey }), {
      idempotent: true,
    });
    const handler = byConversation((messages) =>
      messages.at(-1)?.role === 'tool'
        ? pieces(10, 20, 'second')
        : { ...pieces(6, 20, 'first'), toolCalls: [{ name: careful }, { name: repeatable }] },
    );
    const turns: string[] = [];
    let posted = 0;
    let kills = 0;

    const client = async (): Promise<void> => {
      const scene = await patiently(() => stack.scene(handler, { tools: [careful, repeatable] }));
      const follower = stack.turnwire.follow(scene.sessionId);
      for (let n = 0; posted < TURNS; n += 1) {
        posted += 1;
        const key = { 'idempotency-key': `${scene.sessionId} ${n}` };
        const turn = await patiently(() => stack.api.postTurn(scene.sessionId, { text: `Go ${n}.` }, key));
        turns.push(turn.id);
        await follower.until(({ type, data }) => type === 'done' && data.turnId === turn.id, 1, 60_000);
      }
      follower.close();
    };
    const clients = Promise.all(Array.from({ length: AT_ONCE }, client));
    const over = clients.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([over, sleep(400 + random() * 1200, false)]))) {
      const service = SERVICES[Math.floor(random() * SERVICES.length)] ?? 'agent-worker';
      const alive = deployment().of(service).filter(isAlive);
      const victim = alive[Math.floor(random() * alive.length)];
      if (victim === undefined) continue;
      kills += 1;
      victim.signal('SIGKILL');
      await victim.exited;
      await deployment().addOne(service);
    }
    await clients;
    expect(kills).toBeGreaterThan(2);
    const ended = await Promise.all(turns.map((id) => stack.api.ended(id)));
    expect(ended.filter(({ status }) => status !== 'COMPLETED')).toEqual([]);
  });
});

function isAlive(process: ServerProcess): boolean {
  return process.isAlive();
}

/** A gateway may be away, or its answer lost: the same again, with the same key. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(200);
    }
  }
}
