import type { Clock } from '@turnwire/shared/ports/clock';

/** Waits until the work has ended, however it ended, but not longer than `ms` or the signal's abort. */
export async function settledWithin(
  clock: Clock,
  work: Promise<unknown>,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  if (ms <= 0) return;
  const done = new AbortController();
  const onAbort = () => done.abort();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) done.abort();
  work.then(onAbort, onAbort);
  await clock.sleep(ms, done.signal);
  signal?.removeEventListener('abort', onAbort);
}
