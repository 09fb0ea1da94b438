import { type EmbeddedAdapters, makeEmbeddedAdapters } from '@turnwire/shared/testing/embedded-adapters';
import {
  createScriptedModel,
  inOrder,
  type ScriptedReply,
  says,
  thenHangs,
} from '@turnwire/shared/testing/scripted-model';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startAgentWorker } from './agent-worker.ts';
import { type BenchClient, LEASE_MS, openBenchSession } from './testing/turn-bench.ts';

let adapters: EmbeddedAdapters;
beforeEach(async () => {
  adapters = await makeEmbeddedAdapters();
});
afterEach(() => adapters.close());

const SWEEP_MS = 2_000;
const DRAIN_MS = 30_000;

function start(workerConcurrency: number, ...replies: readonly ScriptedReply[]) {
  const model = createScriptedModel(inOrder(...replies));
  const options = {
    ...{ holder: 'worker', workerConcurrency, leaseMs: LEASE_MS, sweepMs: SWEEP_MS, drainMs: DRAIN_MS },
    ...{ toolsAllowPrivate: false, toolsAllowStdio: false, recordedWeather: false },
  };
  return { model, worker: startAgentWorker({ ...adapters, model, embedder: null, hooks: {}, options }) };
}

/** A turn, with or without a worker being woken for it. */
async function accepted(client: BenchClient, { wake = true } = {}) {
  const turn = await client.accept('Hi');
  if (wake) await adapters.queue.enqueue({ kind: 'turn', ...client.key, turnId: turn.id });
  return turn;
}

describe('an agent worker', () => {
  test('runs the turns that it is woken for', async () => {
    const { worker } = start(2, says('Hello.'));
    const client = await openBenchSession(adapters);
    const turn = await accepted(client);
    await adapters.clock.advance(0);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED' });
    expect(adapters.metrics.counted.filter((line) => line.startsWith('activeTurns'))).toEqual([
      'activeTurns 1',
      'activeTurns -1',
    ]);
    await worker.close();
  });

  test('finds the turns that nobody woke it for', async () => {
    const { worker } = start(2, says('Hello.'));
    const client = await openBenchSession(adapters);
    const turn = await accepted(client, { wake: false });
    await adapters.clock.advance(SWEEP_MS);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED' });
    await worker.close();
  });

  test('takes over what another one left behind, within lease and sweep time', async () => {
    const client = await openBenchSession(adapters);
    const turn = await accepted(client, { wake: false });
    await adapters.store.turns.claim(client.key, { holder: 'dead', leaseMs: LEASE_MS });
    const { worker } = start(2, says('Hello.'));
    await adapters.clock.advance(LEASE_MS + SWEEP_MS);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'COMPLETED', attempt: 2 });
    await worker.close();
  });

  test('runs no more turns at once than it may', async () => {
    const { model, worker } = start(2, thenHangs());
    for (let n = 0; n < 3; n += 1) await accepted(await openBenchSession(adapters));
    await adapters.clock.advance(0);
    expect(model.open).toBe(2);
    const closing = worker.close();
    await adapters.clock.advance(DRAIN_MS + 10_000);
    await closing;
  });

  test('that is closed lets turns go on for a while, then hands them over', async () => {
    const { model, worker } = start(2, thenHangs({ type: 'text', text: 'Hel' }), says('Hello.'));
    const client = await openBenchSession(adapters);
    const turn = await accepted(client);
    await adapters.clock.advance(0);
    const closing = worker.close();
    await adapters.clock.advance(DRAIN_MS - 1);
    expect(model.open).toBe(1);
    await adapters.clock.advance(1);
    await closing;
    expect(model.open).toBe(0);
    expect(await client.turn(turn.id)).toMatchObject({ status: 'QUEUED', attempt: 1 });

    const other = await openBenchSession(adapters);
    await accepted(other);
    await adapters.clock.advance(10 * SWEEP_MS);
    expect(model.requests).toHaveLength(1);
  });
});
