import { type Job as BullJob, DelayedError, UnrecoverableError, WaitingError } from 'bullmq';
import type { Clock } from '../../ports/clock.ts';
import type { Consumer, Job, JobHandler, JobKind } from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import { isLastAttempt, jobRetryDelay } from '../job-queue-retry.ts';
import { parseJob } from './job-record.ts';
import { RetriedFailure } from './retried-failure.ts';
import { type Shift, startShift } from './shift.ts';
import type { TenantSlots } from './tenant-slots.ts';

export interface ConsumerOptions<K extends JobKind> {
  readonly kind: K;
  readonly concurrency: number;
  readonly handler: JobHandler<K>;
  readonly url: string;
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether jobs wait that should have been taken `ms` ago. */
  isBehind(ms: number): Promise<boolean>;
  /** Null: as many jobs of a tenant run as there are. */
  readonly slots: TenantSlots | null;
}

const WATCH_MS = 4_000;
/** A parked job that everybody forgot is looked at again after this. */
const PARKED_MS = 60_000;
/** How often in a row a worker is seen idle beside jobs that wait before it is replaced. */
const STRIKES = 2;
/** For how long an idle worker may take leave of a Redis that does not answer. */
const FAREWELL_MS = 1_000;

/**
 * Takes jobs through a BullMQ worker, and replaces that worker when it has stopped taking any: over the years workers
 * were seen to stay behind after an outage in one way or another (taskforcesh/bullmq #648, #2466, #3088, #3185).
 */
export class BullConsumer<K extends JobKind> implements Consumer {
  readonly #options: ConsumerOptions<K>;
  readonly #shifts = new Set<Shift>();
  readonly #stopWatching: () => void;
  #shift: Shift;
  #taken = 0;
  #takenBefore = 0;
  #strikes = 0;
  #takesJobs = true;
  #onIdle: () => void = () => {};

  constructor(options: ConsumerOptions<K>) {
    this.#options = options;
    this.#shift = this.#startShift(options.concurrency);
    this.#stopWatching = options.clock.every(WATCH_MS, () => void this.#watch());
  }

  async close(graceMs: number): Promise<void> {
    this.#takesJobs = false;
    this.#stopWatching();
    const done = new AbortController();
    const { clock } = this.#options;
    const ended = Promise.all([...this.#shifts].map((shift) => this.#end(shift)));
    const parted = this.#idle().then(() => clock.sleep(FAREWELL_MS, done.signal));
    await Promise.race([ended, parted, clock.sleep(graceMs, done.signal)]);
    done.abort();
    if (this.#running === 0) this.abandon();
  }

  /** Leaves at once, as if the process had died: what runs is waiting again when its lock has expired. */
  abandon(): void {
    this.#stopWatching();
    for (const shift of this.#shifts) shift.abandon();
    this.#shifts.clear();
  }

  get #running(): number {
    return [...this.#shifts].reduce((sum, shift) => sum + shift.running, 0);
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = () => {
        if (this.#running === 0) resolve();
      };
      this.#onIdle();
    });
  }

  #startShift(concurrency: number): Shift {
    const shift = startShift({ ...this.#options, concurrency, run: (job, token) => this.#run(shift, job, token) });
    this.#shifts.add(shift);
    return shift;
  }

  /** Lets the jobs of a shift end. */
  async #end(shift: Shift): Promise<void> {
    await shift.end();
    this.#shifts.delete(shift);
  }

  async #run(shift: Shift, bullJob: BullJob, token: string): Promise<void> {
    if (!this.#takesJobs) {
      // It came while the worker took its leave.
      await bullJob.moveToWait(token);
      throw new WaitingError();
    }
    this.#taken += 1;
    const job = parseJob(bullJob.data) as Extract<Job, { kind: K }>; // a queue has jobs of its own kind alone
    const { slots } = this.#options;
    const id = bullJob.id ?? '';
    if (slots !== null && !(await slots.take(job.tenantId, id))) await this.#park(bullJob, token, slots, job.tenantId);
    shift.running += 1;
    const attempt = bullJob.attemptsMade + 1;
    const run = { id, attempt, last: isLastAttempt(this.#options.kind, attempt) };
    try {
      await this.#options.handler(job, run);
    } catch (error) {
      throw await this.#failureOf(shift, bullJob, token, attempt, error);
    } finally {
      shift.running -= 1;
      await slots?.free(job.tenantId, id);
      this.#onIdle();
      this.#share();
    }
  }

  /** Puts a job aside until a slot of its tenant is free. Throws what tells BullMQ so. */
  async #park(bullJob: BullJob, token: string, slots: TenantSlots, tenantId: string): Promise<never> {
    await bullJob.moveToDelayed(this.#options.clock.now() + PARKED_MS, token);
    await slots.park(tenantId, bullJob.id ?? '', bullJob.priority);
    throw new DelayedError();
  }

  /** What to tell BullMQ, whose errors decide what becomes of a job. */
  async #failureOf(shift: Shift, bullJob: BullJob, token: string, attempt: number, error: unknown): Promise<Error> {
    const { kind, clock, log } = this.#options;
    const message = error instanceof Error ? error.message : String(error);
    const fields = { err: error, jobId: bullJob.id, kind, attempt };
    if (isLastAttempt(kind, attempt)) {
      log.error(fields, 'A job failed and is not tried again.');
      return new UnrecoverableError(message);
    }
    log.warn(fields, 'A job failed and is tried again.');
    const delayMs = jobRetryDelay(kind, attempt, Math.random());
    const failure = { token, attempts: attempt, message, dueAt: clock.now() + delayMs };
    const isGone = await shift.stepAside(bullJob, failure).catch(() => false);
    return isGone ? new DelayedError() : new RetriedFailure(message, delayMs);
  }

  /** Jobs of a replaced worker that still run count too. */
  #share(): void {
    const elsewhere = this.#running - this.#shift.running;
    this.#shift.worker.concurrency = Math.max(1, this.#options.concurrency - elsewhere);
  }

  async #watch(): Promise<void> {
    const { concurrency, log, kind } = this.#options;
    const isIdle = this.#taken === this.#takenBefore && this.#running < concurrency;
    this.#takenBefore = this.#taken;
    // While Redis does not answer the worker has nothing to answer for.
    const isStuck = isIdle && (await this.#options.isBehind(WATCH_MS).catch(() => false));
    this.#strikes = isStuck ? this.#strikes + 1 : 0;
    if (this.#strikes < STRIKES) return;
    this.#strikes = 0;
    log.warn({ kind }, 'Jobs wait and none is taken: the worker is replaced.');
    const stuck = this.#shift;
    this.#shift = this.#startShift(Math.max(1, concurrency - this.#running));
    this.#end(stuck).catch((error) => log.warn({ err: error, kind }, 'A worker could not be closed.'));
  }
}
