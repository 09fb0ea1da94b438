import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from 'mongoose';

/** Time as the store judges it: leases, expiries, due times. */
export interface StoreClock {
  now(): number;
  close(): void;
}

const REFRESH_MS = 10_000;

/**
 * The server's clock, which all processes share, read without asking for it each time: its distance from this process's
 * monotonic clock is measured now and then. Half of a `hello`'s round trip is what it may be wrong by.
 */
export async function openServerClock(connection: Connection): Promise<StoreClock> {
  let distance = await measure(connection);
  const closing = new AbortController();
  void refresh();

  async function refresh(): Promise<void> {
    while (!closing.signal.aborted) {
      await sleep(REFRESH_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      // While the server is away, nothing is judged: the last distance will do.
      distance = await measure(connection).catch(() => distance);
    }
  }

  return {
    now: () => Math.round(performance.now() + distance),
    close: () => closing.abort(),
  };
}

/** Server time minus monotonic time, from the quickest of three looks. */
async function measure(connection: Connection): Promise<number> {
  const admin = connection.getClient().db('admin');
  let best = { tookMs: Number.POSITIVE_INFINITY, distance: 0 };
  for (let look = 0; look < 3; look += 1) {
    const before = performance.now();
    const { localTime } = await admin.command({ hello: 1 });
    const tookMs = performance.now() - before;
    if (!(localTime instanceof Date)) throw new Error('The server does not tell its time.');
    if (tookMs < best.tookMs) best = { tookMs, distance: localTime.getTime() - before - tookMs / 2 };
  }
  return best.distance;
}
