import { type Job as BullJob, type JobsOptions, Job as JobToAdd, type JobType, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Clock } from '../../ports/clock.ts';
import {
  type FairShare,
  JOB_STATES,
  type Job,
  type JobKind,
  type JobRecord,
  type JobState,
} from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import { recordOf, subjectOf } from './job-record.ts';
import type { jobScripts } from './job-scripts.ts';
import { TenantSlots } from './tenant-slots.ts';

export interface LaneOptions {
  readonly kind: JobKind;
  readonly client: Redis;
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly share: FairShare;
}

/** Of BullMQ. */
const GREATEST_PRIORITY = 2 ** 21;
/** By how much a tenant's next job is behind the one before it, with a weight of 1. */
const STEP = 60;

/** BullMQ keeps an event of every step of a job for listeners that we have not. */
const KEPT_EVENTS = 100;

const BASE_OPTIONS: JobsOptions = {
  // The retry policy decides after each failure, so that jobs follow the policy of the version that runs them.
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: 'custom' },
  stackTraceLimit: 0,
};

/** BullMQ's sets of a state, where their order is none of ids. */
const SORTED_OTHERWISE: { readonly [S in JobState]?: JobType[] } = {
  delayed: ['delayed'],
  waiting: ['wait', 'prioritized'],
};

/** Failures that last for as long as the connection: a script is unknown, or the server has become a replica. */
const RECONNECT = /^(NOSCRIPT|READONLY)/;

const stateSchema = z.enum(JOB_STATES);

/** All jobs of one kind, from the side of those who enqueue and look. Its methods may throw whatever ioredis throws. */
export class BullLane {
  readonly #options: LaneOptions;
  readonly #queue: Queue;
  /** Null: as many jobs of a tenant run as there are. */
  readonly slots: TenantSlots | null;

  constructor(options: LaneOptions) {
    this.#options = options;
    const { kind, client, prefix, log } = options;
    this.#queue = new Queue(kind, {
      connection: client,
      prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: KEPT_EVENTS } },
    });
    this.slots = options.share.maxRunning === 0 ? null : this.#openSlots();
    this.#queue.on('error', (error) => log.debug({ err: error, kind }, 'A queue had a problem with Redis.'));
  }

  async enqueue(job: Job, delayMs: number): Promise<void> {
    const { clock, client, kind } = this.#options;
    const now = clock.now();
    const subject = subjectOf(job);
    const { toKey } = this.#queue;
    const keys = [toKey(`de:${subject}`), toKey('active'), toKey('delayed'), toKey('id')];
    const place = kind === 'turn' ? { priority: await this.#place(job, subject) } : {};
    const options = { ...BASE_OPTIONS, ...place, timestamp: now, delay: delayMs, deduplication: { id: subject } };
    const transaction = (await this.#queue.getBackend().client).multi();
    transaction.runCommand('turnwireMakeRoom', [...keys, toKey(''), now + delayMs, now]);
    await new JobToAdd(this.#queue, kind, job, options).addJob(transaction);
    const results = (await transaction.exec()) ?? [];
    const failure = results.find(([error]) => error !== null)?.[0];
    if (failure) {
      // ioredis believes that the connection knows the script, until it is another one.
      if (RECONNECT.test(failure.message)) client.disconnect(true);
      throw failure;
    }
    const laterId: unknown = results[0]?.[1];
    if (typeof laterId === 'string') await this.#hasten(laterId, delayMs);
  }

  async counts(): Promise<Readonly<Record<JobState, number>>> {
    const counts = await this.#queue.getJobCounts(...JOB_STATES, 'prioritized');
    const of = (state: JobState | 'prioritized') => counts[state] ?? 0;
    return {
      waiting: of('waiting') + of('prioritized'),
      active: of('active'),
      delayed: of('delayed'),
      completed: of('completed'),
      failed: of('failed'),
    };
  }

  async list(state: JobState, offset: number, limit: number): Promise<readonly JobRecord[]> {
    if (limit <= 0) return [];
    const sets = SORTED_OTHERWISE[state];
    const jobs = sets === undefined ? await this.#page(state, offset, limit) : await this.#newest(sets, offset, limit);
    return jobs.flatMap((job) => recordOf(job, state) ?? []);
  }

  async get(id: string): Promise<JobRecord | null> {
    const job = await this.#find(id);
    const found = await job?.getState();
    const state = stateSchema.safeParse(found === 'prioritized' ? 'waiting' : found);
    return job === null || !state.success ? null : recordOf(job, state.data);
  }

  async retry(id: string): Promise<boolean> {
    const job = await this.#find(id);
    const record = job === null ? null : recordOf(job, 'failed');
    if (job === null || record === null) return false;
    const { toKey } = this.#queue;
    const keys = [toKey(`de:${subjectOf(record.job)}`), toKey('active'), toKey('failed')];
    const client = await this.#queue.getBackend().client;
    const answer: unknown = await client.runCommand('turnwireTakeBack', [...keys, toKey(''), id]);
    if (answer === 1) await job.retry('failed', { resetAttemptsMade: true }).catch(ignoreOtherState);
    return answer !== -1;
  }

  /** Whether a job waits, or was due more than `ms` ago. */
  async isBehind(ms: number): Promise<boolean> {
    const { waiting = 0, prioritized = 0 } = await this.#queue.getJobCounts('waiting', 'prioritized');
    if (waiting + prioritized > 0) return true;
    return (await this.#queue.getDelayedCount(this.#options.clock.now() - ms)) > 0;
  }

  /** Lets a delayed job wait for no longer than this. */
  async #hasten(id: string, delayMs: number): Promise<void> {
    const backend = this.#queue.getBackend();
    const hastened = delayMs > 0 ? backend.changeDelay(id, delayMs) : backend.promote(id);
    await hastened.catch(ignoreOtherState);
  }

  /** The tag of a new job, see `placeInLine`. */
  async #place(job: Job, subject: string): Promise<number> {
    const { share } = this.#options;
    const { toKey } = this.#queue;
    const keys = [toKey(`de:${subject}`), toKey('active'), toKey('prioritized'), toKey('tags')];
    const step = Math.max(1, Math.round(STEP / share.weightOf(job.tenantId)));
    return Number(await this.#run('turnwirePlaceInLine', [...keys, toKey(''), job.tenantId, step, GREATEST_PRIORITY]));
  }

  async #run(script: keyof typeof jobScripts, args: (string | number)[]): Promise<unknown> {
    return (await this.#queue.getBackend().client).runCommand(script, args);
  }

  #openSlots(): TenantSlots {
    const { clock, share } = this.#options;
    return new TenantSlots({
      clock,
      maxRunning: share.maxRunning,
      toKey: this.#queue.toKey,
      run: (script, args) => this.#run(script, args),
      promote: (id) => this.#hasten(id, 0),
    });
  }

  /** BullMQ sorts these by when they are due, or by priority; ids grow in the order of enqueueing. */
  async #newest(sets: JobType[], offset: number, limit: number): Promise<readonly BullJob[]> {
    const ids = await this.#queue.getRanges(sets, 0, -1);
    const newest = ids.toSorted((a, b) => Number(b) - Number(a)).slice(offset, offset + limit);
    const jobs = await Promise.all(newest.map((id) => this.#find(id)));
    return jobs.filter((job) => job !== null);
  }

  #page(state: JobState, offset: number, limit: number): Promise<readonly BullJob[]> {
    return this.#queue.getJobs([state], offset, offset + limit - 1);
  }

  /** BullMQ's own keys stand beside those of the jobs; only ids are numbers. */
  async #find(id: string): Promise<BullJob | null> {
    return /^\d+$/.test(id) ? ((await this.#queue.getJob(id)) ?? null) : null;
  }
}

/** The job has moved on in the meantime (BullMQ's codes: it is gone, or in another state), as it was meant to. */
function ignoreOtherState(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code !== -1 && code !== -3) throw error;
}
