import { BaseAdapter } from '@bull-board/api/dist/queueAdapters/base.js';
import type { JobCounts, JobStatus, QueueJob, Status } from '@bull-board/api/typings/app';
import { isAppError } from '@turnwire/shared/domain/errors';
import {
  JOB_STATES,
  type JobKind,
  type JobQueue,
  type JobRecord,
  type JobState,
} from '@turnwire/shared/ports/job-queue';
import { boardJob, linkOf } from './board-job.ts';

const PAGE = 100;
/** How far the jobs of one tenant are looked for among those of others. */
const REACH = 5_000;

/** What bull-board's errors are answered with. */
class BoardError extends Error {
  override readonly name = 'BoardError';
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/**
 * One kind of jobs as bull-board sees a queue. The numbers are those of the whole queue; jobs are shown to their own
 * tenant only. Of what bull-board can do with a queue, this one looks and retries.
 */
export class BoardQueue extends BaseAdapter {
  readonly #queue: JobQueue;
  readonly #kind: JobKind;
  readonly #tenantId: () => string;

  constructor(queue: JobQueue, kind: JobKind, tenantId: () => string) {
    super('bull', { externalJobUrl: linkOf, description: `Jobs of the ${queue.kind} queue` });
    this.#queue = queue;
    this.#kind = kind;
    this.#tenantId = tenantId;
  }

  override readonly allowCompletedRetries = false;

  getName(): string {
    return this.#kind;
  }

  getStatuses(): Status[] {
    return ['latest', ...this.getJobStatuses()] as Status[];
  }

  getJobStatuses(): JobStatus[] {
    return [...JOB_STATES] as JobStatus[];
  }

  async getJobCounts(): Promise<JobCounts> {
    return { ...(await this.#ask(() => this.#queue.counts(this.#kind))) } as JobCounts;
  }

  async getJob(id: string): Promise<QueueJob | null> {
    const record = await this.#ask(() => this.#queue.get(this.#kind, id));
    return record === null || !this.#isOwn(record) ? null : this.#boardJob(record);
  }

  /** `start` and `end` count the jobs of each state, both included. */
  async getJobs(statuses: JobStatus[], start = 0, end = Number.POSITIVE_INFINITY): Promise<QueueJob[]> {
    const states = JOB_STATES.filter((state) => (statuses as string[]).includes(state));
    const lists = await Promise.all(states.map((state) => this.#ask(() => this.#own(state, start, end))));
    return lists
      .flat()
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .map((record) => this.#boardJob(record));
  }

  async #own(state: JobState, start: number, end: number): Promise<readonly JobRecord[]> {
    const own: JobRecord[] = [];
    for (let offset = 0; offset < REACH && own.length <= end; offset += PAGE) {
      const page = await this.#queue.list(this.#kind, state, { offset, limit: PAGE });
      if (page.length === 0) break;
      own.push(...page.filter((record) => this.#isOwn(record)));
    }
    return own.slice(start, end + 1);
  }

  #isOwn({ job }: JobRecord): boolean {
    return job.tenantId === this.#tenantId();
  }

  #boardJob(record: JobRecord): QueueJob {
    return boardJob(record, {
      retry: async () => {
        const isRetried = await this.#ask(() => this.#queue.retry(this.#kind, record.id));
        if (!isRetried) throw new BoardError(409, 'The job is not failed any more.');
      },
      refuse,
    });
  }

  /** bull-board looks for an HTTP status in what is thrown. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw isAppError(error, 'unavailable') ? new BoardError(503, error.message) : error;
    }
  }

  async isPaused(): Promise<boolean> {
    return false;
  }

  async getJobLogs(): Promise<string[]> {
    return [];
  }

  async getMetrics() {
    return { meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [], count: 0 };
  }

  async getRedisInfo(): Promise<null> {
    return null;
  }

  async getJobSchedulers(): Promise<[]> {
    return [];
  }

  async getJobSchedulersCount(): Promise<number> {
    return 0;
  }

  async getGlobalConcurrency(): Promise<null> {
    return null;
  }

  override readonly clean = refuse;
  override readonly addJob = refuse;
  override readonly pause = refuse;
  override readonly resume = refuse;
  override readonly empty = refuse;
  override readonly obliterate = refuse;
  override readonly promoteAll = refuse;
  override readonly removeJobScheduler = refuse;
  override readonly updateJobScheduler = refuse;
  override readonly runJobSchedulerNow = refuse;
  override readonly setGlobalConcurrency = refuse;
}

async function refuse(): Promise<never> {
  throw new BoardError(405, 'The board looks at jobs and retries them, and does nothing else.');
}
