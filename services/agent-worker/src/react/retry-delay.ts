import type { ModelFailure } from '@turnwire/shared/ports/language-model';

/** Calls of one step, the first included. */
const MAX_CALLS = 5;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 20_000;
/** How long one step may wait between its calls, all in all. */
const WAIT_BUDGET_MS = 120_000;

/**
 * How long to wait before the model is called again, in ms; null: not at all. Doubles from half a second, with jitter
 * over its upper half so that many workers do not come back in step. Where the provider says how long, never sooner.
 */
export function retryDelay(failure: ModelFailure, failures: number, waitedMs: number, random: number): number | null {
  if (!failure.retry || failures >= MAX_CALLS) return null;
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
  const jittered = backoff * (0.5 + random / 2);
  const delay = failure.retryAfterMs === null ? jittered : Math.max(jittered, failure.retryAfterMs * (1 + random / 20));
  return waitedMs + delay > WAIT_BUDGET_MS ? null : Math.ceil(delay);
}
