import type { WorkerDependencies } from './worker-dependencies.ts';

const BATCH = 200;

/**
 * Enqueues again what the store says is due: expired leases, queued turns without a job, approvals past their time,
 * events that nobody published. Any worker may do it, at any time: a needless wake-up finds nothing to claim.
 */
export async function sweepSessions({ store, queue, options, log }: WorkerDependencies): Promise<void> {
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
