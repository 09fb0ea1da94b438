import { setTimeout as sleep } from 'node:timers/promises';
import type { Atomically, Repeatedly } from './atomic-write.ts';

/** How long one waits for those before. After that it may go at the same time: they may be stuck, and it need not be. */
const WAIT_MS = 2_000;

/**
 * Of many writes to one root at once, each but one is in vain and has to be repeated: 60 of them make 650 attempts.
 * Those of other processes still meet, but those of this one go one after the other.
 */
export function inLine(repeatedly: Repeatedly): Atomically {
  const last = new Map<string, Promise<unknown>>();
  return async (about, attempt) => {
    const mine = after(last.get(about), () => repeatedly(attempt));
    last.set(about, mine);
    try {
      return await mine;
    } finally {
      if (last.get(about) === mine) last.delete(about);
    }
  };
}

async function after<R>(before: Promise<unknown> | undefined, work: () => Promise<R>): Promise<R> {
  if (before !== undefined) {
    const patience = new AbortController();
    const { signal } = patience;
    await Promise.race([before, sleep(WAIT_MS, undefined, { signal })]).catch(() => undefined);
    patience.abort();
  }
  return work();
}
