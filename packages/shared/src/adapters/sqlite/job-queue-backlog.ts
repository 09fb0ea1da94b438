import type { FairShare, Job } from '../../ports/job-queue.ts';
import { FairLine } from './fair-line.ts';
import type { PendingJob } from './job-queue-table.ts';

/**
 * The jobs of one kind that nobody runs, at most one for each session or user: those that wait, in a line that is fair
 * over tenants, and those that are delayed.
 */
export class JobBacklog {
  readonly #bySubject = new Map<string, PendingJob>();
  /** May hold jobs that were removed since: only what `#bySubject` has is there. */
  readonly #waiting: FairLine<PendingJob>;
  /** The earliest last. */
  readonly #delayed: PendingJob[] = [];

  constructor(weightOf: FairShare['weightOf']) {
    this.#waiting = new FairLine(weightOf);
  }

  /** The one for the same session or user. */
  find(job: Job): PendingJob | undefined {
    return this.#bySubject.get(subjectKey(job));
  }

  /** There must be none for the same session or user. */
  add(pending: PendingJob, now: number): void {
    this.#bySubject.set(subjectKey(pending.job), pending);
    if (pending.dueAt <= now) this.#waiting.push(pending.job.tenantId, pending);
    else this.#delayed.splice(this.#place(pending), 0, pending);
  }

  remove(pending: PendingJob): void {
    this.#bySubject.delete(subjectKey(pending.job));
    const place = this.#place(pending);
    if (this.#delayed[place] === pending) this.#delayed.splice(place, 1);
  }

  /** Takes the next one in line, of a tenant that may have one. */
  take(mayHave: (tenantId: string) => boolean): PendingJob | undefined {
    const pending = this.#waiting.take((candidate) => this.find(candidate.job) === candidate, mayHave);
    if (pending !== undefined) this.#bySubject.delete(subjectKey(pending.job));
    return pending;
  }

  /** Lets wait what was delayed until now. Returns when the next one is due. */
  promote(now: number): number | undefined {
    for (;;) {
      const earliest = this.#delayed.at(-1);
      if (earliest === undefined || earliest.dueAt > now) return earliest?.dueAt;
      this.#delayed.pop();
      this.#waiting.push(earliest.job.tenantId, earliest);
    }
  }

  get waitingCount(): number {
    return this.#bySubject.size - this.#delayed.length;
  }

  get delayedCount(): number {
    return this.#delayed.length;
  }

  waiting(): readonly PendingJob[] {
    return [...this.#waiting.items()].filter((pending) => this.find(pending.job) === pending);
  }

  delayed(): readonly PendingJob[] {
    return this.#delayed;
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
