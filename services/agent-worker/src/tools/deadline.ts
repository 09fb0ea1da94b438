import type { Clock } from '@turnwire/shared/ports/clock';
import { ToolError } from './tool-error.ts';

export interface Deadline {
  readonly clock: Clock;
  /** Aborts the work with its own reason. */
  readonly signal: AbortSignal;
  readonly limitMs: number;
  /** What the work's signal aborts with, as a `ToolError`, when the time is over. */
  readonly message: string;
}

/**
 * Runs work that honours the signal it is given: it aborts with the caller's or when the time is over. Then the signal's
 * reason is thrown, whatever the work made of it.
 */
export async function withDeadline<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, signal, limitMs, message } = deadline;
  signal.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const stopTimer = clock.after(limitMs, () => controller.abort(new ToolError(message)));
  try {
    return await work(controller.signal);
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    stopTimer();
    signal.removeEventListener('abort', onAbort);
  }
}
