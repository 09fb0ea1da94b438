const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/** A connection that was there for so long makes what failed before it count no more. */
export const STABLE_MS = 30_000;

/** How long to wait after this many failures in a row, in ms. */
export function reconnectDelay(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
}
