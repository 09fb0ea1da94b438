import type { Job } from '../../ports/job-queue.ts';
import type { PendingJob } from './job-queue-table.ts';

/** How many jobs that were taken may stand before those that wait. */
const MAX_TAKEN = 1_000;

/**
 * The jobs of one kind that nobody runs, at most one for each session or user: those that wait, in the order in which
 * they came to wait, and those that are delayed.
 */
export class JobBacklog {
  readonly #bySubject = new Map<string, PendingJob>();
  /** May hold jobs that were removed since: only what `#bySubject` has is there. */
  #waiting: PendingJob[] = [];
  /** Where the first of `#waiting` is: shifting a long array for every job is slow. */
  #head = 0;
  /** The earliest last. */
  readonly #delayed: PendingJob[] = [];

  /** The one for the same session or user. */
  find(job: Job): PendingJob | undefined {
    return this.#bySubject.get(subjectKey(job));
  }

  /** There must be none for the same session or user. */
  add(pending: PendingJob, now: number): void {
    this.#bySubject.set(subjectKey(pending.job), pending);
    if (pending.dueAt <= now) this.#waiting.push(pending);
    else this.#delayed.splice(this.#place(pending), 0, pending);
  }

  remove(pending: PendingJob): void {
    this.#bySubject.delete(subjectKey(pending.job));
    const place = this.#place(pending);
    if (this.#delayed[place] === pending) this.#delayed.splice(place, 1);
  }

  /** Takes the one that waits longest. */
  take(): PendingJob | undefined {
    for (;;) {
      const pending = this.#waiting[this.#head];
      if (pending === undefined) return undefined;
      this.#head += 1;
      this.#dropTaken();
      if (this.find(pending.job) !== pending) continue;
      this.#bySubject.delete(subjectKey(pending.job));
      return pending;
    }
  }

  /** Lets wait what was delayed until now. Returns when the next one is due. */
  promote(now: number): number | undefined {
    for (;;) {
      const earliest = this.#delayed.at(-1);
      if (earliest === undefined || earliest.dueAt > now) return earliest?.dueAt;
      this.#delayed.pop();
      this.#waiting.push(earliest);
    }
  }

  get waitingCount(): number {
    return this.#bySubject.size - this.#delayed.length;
  }

  get delayedCount(): number {
    return this.#delayed.length;
  }

  waiting(): readonly PendingJob[] {
    return this.#waiting.slice(this.#head).filter((pending) => this.find(pending.job) === pending);
  }

  delayed(): readonly PendingJob[] {
    return this.#delayed;
  }

  #dropTaken(): void {
    if (this.#head < this.#waiting.length && this.#head < MAX_TAKEN) return;
    this.#waiting = this.#waiting.slice(this.#head);
    this.#head = 0;
  }

  /** Where a delayed job is or belongs. */
  #place(pending: PendingJob): number {
    let [low, high] = [0, this.#delayed.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#delayed[middle];
      if (other !== undefined && isLater(other, pending)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isLater(a: PendingJob, b: PendingJob): boolean {
  return a.dueAt > b.dueAt || (a.dueAt === b.dueAt && a.id > b.id);
}

// No tenant's name has a NUL, so no two keys can be mistaken for one another.
function subjectKey(job: Job): string {
  return `${job.tenantId}\0${job.kind === 'turn' ? job.sessionId : job.userId}`;
}
