import type { Clock } from '../../ports/clock.ts';
import type { JobKind, JobRecord } from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import type { EndedState, JobTable, PendingJob } from './job-queue-table.ts';

export interface HistoryOptions {
  readonly kind: JobKind;
  readonly table: JobTable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many ended jobs the board shows: of those that went well a glimpse, of those that failed what one has to look at. */
const KEPT: Readonly<Record<EndedState, number>> = { completed: 1_000, failed: 10_000 };

// Small and late, so that no turn waits for it: removing a hundred rows takes less than a millisecond.
const TRIM_BATCH = 100;
const TRIM_DELAY_MS = 50;

/** The jobs of one kind that have ended, for the board. */
export class JobHistory {
  readonly #options: HistoryOptions;
  readonly #counts: Record<EndedState, number>;
  #cancelTrim: (() => void) | null = null;
  #closed = false;

  constructor(options: HistoryOptions) {
    this.#options = options;
    const { table, kind } = options;
    this.#counts = { completed: table.countEnded(kind, 'completed'), failed: table.countEnded(kind, 'failed') };
  }

  end(pending: PendingJob, state: EndedState, attempts: number, error: string | null): void {
    this.#options.table.end(pending.id, state, attempts, error, this.#options.clock.now());
    this.#counts[state] += 1;
    this.#trimSoon();
  }

  counts(): Readonly<Record<EndedState, number>> {
    return { ...this.#counts };
  }

  list(state: EndedState, offset: number, limit: number): readonly JobRecord[] {
    return this.#options.table.listEnded(this.#options.kind, state, offset, limit);
  }

  get(id: number): JobRecord | null {
    return this.#options.table.ended(this.#options.kind, id);
  }

  /** A failed job is pending again. */
  revived(): void {
    this.#counts.failed -= 1;
  }

  /** Removes no more. */
  close(): void {
    this.#closed = true;
    this.#cancelTrim?.();
  }

  #trimSoon(): void {
    if (this.#closed || this.#cancelTrim !== null || this.#overfull() === undefined) return;
    this.#cancelTrim = this.#options.clock.after(TRIM_DELAY_MS, () => {
      this.#cancelTrim = null;
      this.#trim();
    });
  }

  #trim(): void {
    const state = this.#overfull();
    if (state === undefined) return;
    try {
      this.#counts[state] -= this.#options.table.removeOldest(this.#options.kind, state, TRIM_BATCH);
      this.#trimSoon();
    } catch (error) {
      this.#options.log.warn({ err: error, kind: this.#options.kind }, 'Old jobs could not be removed.');
    }
  }

  #overfull(): EndedState | undefined {
    const { completed, failed } = this.#counts;
    if (completed >= KEPT.completed + TRIM_BATCH) return 'completed';
    return failed >= KEPT.failed + TRIM_BATCH ? 'failed' : undefined;
  }
}
