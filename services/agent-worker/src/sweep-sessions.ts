import type { WorkerDependencies } from './worker-dependencies.ts';

const BATCH = 200;

/** Sweeps now and again and again, never twice at once: a store that is slow must not be asked more and more. */
export function startSweeping(worker: WorkerDependencies): () => void {
  let isSweeping = false;
  const sweep = async () => {
    if (isSweeping) return;
    isSweeping = true;
    await sweepSessions(worker);
    isSweeping = false;
  };
  void sweep();
  return worker.clock.every(worker.options.sweepMs, () => void sweep());
}

/**
 * Enqueues again what the store says is due: expired leases, queued turns without a job, approvals past their time,
 * events that nobody published. Any worker may do it, at any time: a needless wake-up finds nothing to claim.
 */
async function sweepSessions({ store, queue, options, log }: WorkerDependencies): Promise<void> {
  try {
    for (;;) {
      const due = await store.turns.takeDue(BATCH, Math.max(options.leaseMs, options.sweepMs));
      for (const { tenantId, sessionId, turnId } of due) {
        await queue.enqueue({ kind: 'turn', tenantId, sessionId, turnId });
      }
      if (due.length < BATCH) return;
    }
  } catch (error) {
    log.warn({ err: error }, 'The sweep did not get through; the next one goes on.');
  }
}
