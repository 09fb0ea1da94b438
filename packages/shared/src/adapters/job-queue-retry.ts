import type { JobKind } from '../ports/job-queue.ts';

interface RetryPolicy {
  readonly attempts: number;
  /** The delay after the first failure; each later one is twice as long. */
  readonly firstDelayMs: number;
}

/**
 * A turn is tried again within 3 s all told: it fails as a job only where the store or the bus was away, and what is
 * away for longer the sweeper wakes anew. An extraction needs a model, whose outages last minutes: 465 s all told, after
 * which the user's next turn or the sweeper begins again.
 */
const POLICIES: Readonly<Record<JobKind, RetryPolicy>> = {
  turn: { attempts: 5, firstDelayMs: 200 },
  extraction: { attempts: 6, firstDelayMs: 15_000 },
};

export function isLastAttempt(kind: JobKind, attempt: number): boolean {
  return attempt >= POLICIES[kind].attempts;
}

/** In ms, after the failure of this attempt (from 1). The jitter of ± 25 % is less than the growth. `random`: [0, 1). */
export function jobRetryDelay(kind: JobKind, attempt: number, random: number): number {
  return Math.round(POLICIES[kind].firstDelayMs * 2 ** (attempt - 1) * (0.75 + random / 2));
}
