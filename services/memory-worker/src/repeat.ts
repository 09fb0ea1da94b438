import type { Clock, Ids } from '@turnwire/shared/ports/clock';
import type { Logger } from '@turnwire/shared/ports/logger';

export interface RepeatDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/**
 * Runs a task every `ms` until the signal aborts, never twice at once; resolves when the last run has ended. A failure is
 * logged, and the next run comes as usual. Starts at a random moment of the period, so that many workers do not go in step.
 */
export async function repeat(
  { clock, ids, log }: RepeatDeps,
  { name, ms, signal }: { readonly name: string; readonly ms: number; readonly signal: AbortSignal },
  task: () => Promise<void>,
): Promise<void> {
  await clock.sleep(ms * ids.random(), signal);
  while (!signal.aborted) {
    try {
      await task();
    } catch (error) {
      log.warn({ task: name, err: error }, 'A periodic task failed; it is tried again.');
    }
    await clock.sleep(ms, signal);
  }
}
