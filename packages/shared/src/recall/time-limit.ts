import { AppError } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Gives `run` a signal that aborts with its parent or after `ms`, and rejects then, even if `run` heeds no signal.
 * A limit that was reached rejects with a `model_error` that may be retried.
 */
export async function withinLimit<T>(
  clock: Clock,
  ms: number,
  parent: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const signal = AbortSignal.any([parent, limit.signal]);
  const cancel = clock.after(ms, () => {
    limit.abort(new AppError('model_error', `There was no answer within ${ms / 1000} s.`, { retry: true }));
  });
  try {
    signal.throwIfAborted();
    return await Promise.race([run(signal), whenAborted(signal)]);
  } finally {
    cancel();
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
