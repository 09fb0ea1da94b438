import type { JobQueue } from '@turnwire/shared/ports/job-queue';
import type { Store } from '@turnwire/shared/ports/store';

const BATCH = 100;
// Longer than queues let pass between two attempts: an earlier wake-up would use the attempts up in no time.
const RETRY_AFTER_MS = 300_000;
// A turn that ended just now has had its wake-up; to add another at once would only run its extraction twice.
const DELAY_MS = 5000;

/** Wakes a worker for each user whose turns owe an extraction: the store is the truth, and queues forget. */
export async function sweep(store: Pick<Store, 'extractions'>, queue: Pick<JobQueue, 'enqueue'>): Promise<void> {
  for (;;) {
    const users = await store.extractions.takeDue(BATCH, RETRY_AFTER_MS);
    for (const { tenantId, userId } of users) {
      await queue.enqueue({ kind: 'extraction', tenantId, userId }, { delayMs: DELAY_MS });
    }
    if (users.length < BATCH) return;
  }
}
