import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';

export interface ShutdownOptions {
  /** Ends the work in hand and closes everything. */
  readonly stop: () => Promise<void>;
  /** How long `stop` may take. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * SIGTERM and SIGINT stop the process in order, once; a second signal, or the deadline, ends it at once. So does an
 * error that nobody handled: what a process leaves behind when it dies is taken over safely, what it does in an unknown
 * state is not.
 */
export function installShutdown({ stop, deadlineMs, clock, log }: ShutdownOptions): void {
  let stopping = false;
  const onSignal = async (signal: NodeJS.Signals) => {
    if (stopping) return exit(1, 'A second signal came: stopping at once.', { signal });
    stopping = true;
    log.info({ signal }, 'Stopping: no new work is taken, the work in hand is finished or handed over.');
    clock.after(deadlineMs, () => exit(1, 'Stopping took too long; what was left will be taken over.', { deadlineMs }));
    await stop();
    process.exit(0);
  };
  const exit = (code: number, message: string, fields: Record<string, unknown>): never => {
    log.error(fields, message);
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, (name) => void onSignal(name));
  process.on('uncaughtException', (err, origin) =>
    exit(1, 'An error that nobody handled ends the process.', { err, origin }),
  );
}
