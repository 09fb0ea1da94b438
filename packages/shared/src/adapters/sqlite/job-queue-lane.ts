import type { Clock, Ids } from '../../ports/clock.ts';
import type { Consumer, FairShare, Job, JobHandler, JobKind, JobRecord, JobState } from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import { isLastAttempt, jobRetryDelay } from '../job-queue-retry.ts';
import { JobBacklog } from './job-queue-backlog.ts';
import { JobHistory } from './job-queue-history.ts';
import { type JobTable, type PendingJob, recordOf } from './job-queue-table.ts';

export interface LaneOptions {
  readonly kind: JobKind;
  readonly table: JobTable;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly share: FairShare;
}

/** Timers of more than 2^31 ms fire at once; a shorter one that finds nothing due is set again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Taker {
  readonly concurrency: number;
  readonly handler: JobHandler<JobKind>;
  /** Aborts when it takes no more and all that it ran has ended. */
  readonly idle: AbortController;
  running: number;
}

/** All jobs of one kind and those who take them. What is decided here is in the table first, for the next process. */
export class JobLane {
  readonly #options: LaneOptions;
  readonly #backlog: JobBacklog;
  readonly #history: JobHistory;
  readonly #running = new Map<number, PendingJob>();
  /** How many of each tenant. */
  readonly #runningOf = new Map<string, number>();
  readonly #takers = new Set<Taker>();
  #handsOut = false;
  #closed = false;
  #cancelTimer: (() => void) | null = null;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#history = new JobHistory(options);
    this.#backlog = new JobBacklog(options.share.weightOf);
    for (const pending of options.table.pending(options.kind)) {
      // A job that ran at the end may have had a younger one behind it.
      if (this.#backlog.find(pending.job) !== undefined) this.#wait(pending);
      else this.#backlog.add(pending, options.clock.now());
    }
  }

  enqueue(job: Job, delayMs: number): void {
    const now = this.#options.clock.now();
    const dueAt = now + delayMs;
    const pending = this.#backlog.find(job);
    if (pending === undefined) {
      this.#backlog.add(this.#options.table.insert(job, dueAt, now), now);
    } else if (dueAt < pending.dueAt) {
      this.#wait({ ...pending, dueAt });
    }
    this.#wake();
  }

  consume(concurrency: number, handler: JobHandler<JobKind>): Consumer {
    const taker: Taker = { concurrency, handler, idle: new AbortController(), running: 0 };
    this.#takers.add(taker);
    this.#wake();
    return {
      close: async (graceMs) => {
        this.#takers.delete(taker);
        if (taker.running > 0) await this.#options.clock.sleep(graceMs, taker.idle.signal);
      },
    };
  }

  counts(): Readonly<Record<JobState, number>> {
    return {
      waiting: this.#backlog.waitingCount,
      active: this.#running.size,
      delayed: this.#backlog.delayedCount,
      ...this.#history.counts(),
    };
  }

  /** Newest first. */
  list(state: JobState, offset: number, limit: number): readonly JobRecord[] {
    if (state === 'completed' || state === 'failed') return this.#history.list(state, offset, limit);
    const jobs = this.#unended(state).toSorted((a, b) => b.id - a.id);
    return jobs.slice(offset, offset + limit).map((pending) => recordOf(pending, state));
  }

  get(id: number): JobRecord | null {
    for (const state of ['active', 'waiting', 'delayed'] as const) {
      const pending = this.#unended(state).find((candidate) => candidate.id === id);
      if (pending !== undefined) return recordOf(pending, state);
    }
    return this.#history.get(id);
  }

  retry(id: number): boolean {
    const record = this.#history.get(id);
    if (record?.state !== 'failed') return false;
    const { job, error, createdAt } = record;
    this.#wait({ id, job, attempts: 0, error, createdAt, dueAt: this.#options.clock.now() });
    this.#history.revived();
    this.#wake();
    return true;
  }

  /** Takes no more jobs and sets no more timers. */
  close(): void {
    this.#closed = true;
    this.#takers.clear();
    this.#cancelTimer?.();
    this.#history.close();
  }

  #unended(state: 'waiting' | 'active' | 'delayed'): readonly PendingJob[] {
    if (state === 'active') return [...this.#running.values()];
    return state === 'waiting' ? this.#backlog.waiting() : this.#backlog.delayed();
  }

  /** Lets a job wait until its `dueAt`. Where another waits for the same session or user, one stands for both. */
  #wait(pending: PendingJob): void {
    const other = this.#backlog.find(pending.job);
    const dueAt = Math.min(pending.dueAt, other?.dueAt ?? pending.dueAt);
    const merged = { ...pending, dueAt, attempts: Math.max(pending.attempts, other?.attempts ?? 0) };
    this.#options.table.postpone(merged, other?.id === merged.id ? undefined : other);
    if (other !== undefined) this.#backlog.remove(other);
    this.#backlog.add(merged, this.#options.clock.now());
  }

  /** Hands out what waits, right after the code that runs now, and sets the timer for what is delayed. */
  #wake(): void {
    if (this.#closed) return;
    this.#setTimer();
    if (this.#handsOut) return;
    this.#handsOut = true;
    queueMicrotask(() => {
      this.#handsOut = false;
      this.#handOut();
    });
  }

  #setTimer(): void {
    this.#cancelTimer?.();
    const { clock } = this.#options;
    const dueAt = this.#backlog.promote(clock.now());
    const delay = Math.min((dueAt ?? 0) - clock.now(), LONGEST_TIMER_MS);
    this.#cancelTimer = dueAt === undefined ? null : clock.after(delay, () => this.#wake());
  }

  #handOut(): void {
    for (;;) {
      const taker = this.#takers.values().find(({ running, concurrency }) => running < concurrency);
      const pending = taker && this.#backlog.take((tenantId) => this.#mayRun(tenantId));
      if (taker === undefined || pending === undefined) return;
      void this.#run(taker, pending);
    }
  }

  #count(tenantId: string, change: 1 | -1): void {
    const count = (this.#runningOf.get(tenantId) ?? 0) + change;
    if (count > 0) this.#runningOf.set(tenantId, count);
    else this.#runningOf.delete(tenantId);
  }

  #mayRun(tenantId: string): boolean {
    const { maxRunning } = this.#options.share;
    return maxRunning === 0 || (this.#runningOf.get(tenantId) ?? 0) < maxRunning;
  }

  async #run(taker: Taker, pending: PendingJob): Promise<void> {
    const attempt = pending.attempts + 1;
    const last = isLastAttempt(this.#options.kind, attempt);
    taker.running += 1;
    this.#running.set(pending.id, pending);
    this.#count(pending.job.tenantId, 1);
    const failure = await outcomeOf(() => taker.handler(pending.job, { id: String(pending.id), attempt, last }));
    this.#running.delete(pending.id);
    this.#count(pending.job.tenantId, -1);
    taker.running -= 1;
    try {
      if (failure === null) this.#history.end(pending, 'completed', attempt, null);
      else this.#fail(pending, attempt, failure.error);
    } catch (error) {
      // The table still has it as pending: it runs again at the next start, or sooner if the sweeper finds work to do.
      this.#options.log.error({ err: error, jobId: pending.id }, 'The end of a job could not be stored.');
    }
    if (taker.running === 0 && !this.#takers.has(taker)) taker.idle.abort();
    this.#wake();
  }

  #fail(pending: PendingJob, attempt: number, error: unknown): void {
    const { kind, clock, ids, log } = this.#options;
    const message = error instanceof Error ? error.message : String(error);
    const fields = { err: error, jobId: pending.id, kind, attempt };
    if (isLastAttempt(kind, attempt)) {
      log.error(fields, 'A job failed and is not tried again.');
      this.#history.end(pending, 'failed', attempt, message);
    } else {
      log.warn(fields, 'A job failed and is tried again.');
      const dueAt = clock.now() + jobRetryDelay(kind, attempt, ids.random());
      this.#wait({ ...pending, attempts: attempt, error: message, dueAt });
    }
  }
}

/** What the handler threw, at once or later; null if it did not. */
async function outcomeOf(handle: () => Promise<void>): Promise<{ readonly error: unknown } | null> {
  try {
    await handle();
    return null;
  } catch (error) {
    return { error };
  }
}
