import { isAppError } from '@turnwire/shared/domain/errors';
import { createAgentRuntimes } from './agent-runtimes.ts';
import type { Hold } from './hold.ts';
import { createEngine } from './react/engine.ts';
import { runTurn, type TurnRunner } from './run-turn.ts';
import { startSweeping } from './sweep-sessions.ts';
import { createToolbox } from './tools/toolbox.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

export interface AgentWorker {
  /**
   * Takes no new turns, lets those that run go on for `drainMs`, then hands them over: they are queued again, first in
   * line and without a new attempt.
   */
  close(): Promise<void>;
}

/** How long handing over may take before the leases are left to run out. */
const HAND_OVER_MS = 5_000;

/** Starts taking turns, and sweeping for those that nobody was woken for. */
export function startAgentWorker(worker: WorkerDependencies): AgentWorker {
  const { queue, store, clock, log, metrics, options } = worker;
  const toolbox = createToolbox({ store, clock, log, options });
  const runtimes = createAgentRuntimes(store.agents, clock, (agent) => createEngine({ ...worker, toolbox }, agent));
  const holds = new Set<Hold>();
  const runner: TurnRunner = {
    worker,
    runtimes,
    onHold(hold) {
      holds.add(hold);
      metrics.activeTurns(1);
      return () => {
        holds.delete(hold);
        metrics.activeTurns(-1);
      };
    },
  };
  const consumer = queue.consume('turn', options.workerConcurrency, async ({ tenantId, sessionId, traceparent }) => {
    try {
      await runTurn(runner, { tenantId, sessionId }, traceparent);
    } catch (error) {
      if (!isAppError(error, 'unavailable')) log.error({ tenantId, sessionId, err: error }, 'A turn could not be run.');
      throw error;
    }
  });
  const stopSweeping = startSweeping(worker);
  return {
    async close() {
      stopSweeping();
      await consumer.close(options.drainMs);
      for (const hold of holds) hold.stop('shutdown');
      await consumer.close(HAND_OVER_MS);
      await toolbox.close();
    },
  };
}
