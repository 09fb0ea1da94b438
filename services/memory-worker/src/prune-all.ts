import type { Clock } from '@turnwire/shared/ports/clock';

/** Small, since an embedded store does nothing else meanwhile. */
const BATCH = 200;
const PAUSE_MS = 20;

/** Removes in batches until nothing is left to remove, and lets others work in between. */
export async function pruneAll(
  clock: Clock,
  signal: AbortSignal,
  prune: (limit: number) => Promise<number>,
): Promise<void> {
  while (!signal.aborted && (await prune(BATCH)) >= BATCH) await clock.sleep(PAUSE_MS, signal);
}
