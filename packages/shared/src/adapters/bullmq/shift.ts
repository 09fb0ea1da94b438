import { type Job as BullJob, Worker } from 'bullmq';
import type { JobKind } from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import { parseJob, subjectOf } from './job-record.ts';
import { RetriedFailure } from './retried-failure.ts';
import { openWorkerConnection } from './worker-connection.ts';

export interface ShiftOptions {
  readonly kind: JobKind;
  readonly concurrency: number;
  readonly url: string;
  readonly prefix: string;
  readonly log: Logger;
  readonly run: (job: BullJob, token: string) => Promise<void>;
}

/** A failure of one attempt. */
export interface AttemptFailure {
  /** Of the lock on the job. */
  readonly token: string;
  /** Including this one. */
  readonly attempts: number;
  readonly message: string;
  /** When the job is to be tried again. */
  readonly dueAt: number;
}

/** One BullMQ worker with its connections. */
export interface Shift {
  readonly worker: Worker;
  /** Handlers at work; kept by whoever runs them. */
  running: number;
  /** Whether the job is gone, since another one for the same session or user stands for it now. */
  stepAside(job: BullJob, failure: AttemptFailure): Promise<boolean>;
  /** Takes no more jobs; resolves when those that run have ended. May never do if Redis does not answer. */
  end(): Promise<void>;
  abandon(): void;
}

// A job whose process died is waiting again when its lock has expired and a check has seen it: within 20 s.
const LOCK_MS = 15_000;
const CHECK_MS = 5_000;
/**
 * One marker of Redis wakes one idle worker: should that be a process that stands still, another one looks by itself
 * after this.
 */
const IDLE_LOOK_SECONDS = 2;
/** Between attempts to store the end of a job while Redis is away. */
const PERSISTENCE_MS = 1_000;
/** How many ended jobs are kept for the board. */
const KEPT = { completed: 1_000, failed: 10_000 } as const;

export function startShift({ kind, concurrency, url, prefix, log, run }: ShiftOptions): Shift {
  const connection = openWorkerConnection(url, log);
  const worker = new Worker(
    kind,
    (job, token = '') => run(job, token),
    {
      connection: connection.commands,
      prefix,
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: CHECK_MS,
      // How often its process died says nothing about a job: the attempts of a turn are counted in the store.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: PERSISTENCE_MS,
      drainDelay: IDLE_LOOK_SECONDS,
      removeOnComplete: { count: KEPT.completed },
      removeOnFail: { count: KEPT.failed },
      settings: {
        backoffStrategy: (_attempts, _type, error) => (error instanceof RetriedFailure ? error.delayMs : -1),
      },
    },
    (name, options) => connection.openBackend(name, options),
  );
  worker.on('error', (error) => {
    const level = connection.commands.status === 'ready' ? 'warn' : 'debug';
    log[level]({ err: error, kind }, 'A worker had a problem with Redis.');
  });
  return {
    worker,
    running: 0,
    async stepAside(job, { token, attempts, message, dueAt }) {
      const { toKey } = worker;
      const subject = subjectOf(parseJob(job.data));
      const keys = [toKey(`de:${subject}`), toKey('active'), toKey('delayed'), toKey('stalled')];
      const client = await worker.getBackend().client;
      const args = [toKey(''), job.id, token, attempts, message, dueAt];
      return (await client.runCommand('turnwireStepAside', [...keys, ...args])) === 1;
    },
    async end() {
      await worker.close();
      connection.close();
    },
    abandon() {
      worker.close(true).catch((error) => log.debug({ err: error, kind }, 'A worker was closed in the middle.'));
      connection.close();
    },
  };
}
