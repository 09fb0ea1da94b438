import { unavailable } from '../../domain/errors.ts';
import type { Clock, Ids } from '../../ports/clock.ts';
import {
  EQUAL_SHARES,
  type FairShare,
  type Job,
  type JobHandler,
  type JobKind,
  type JobQueue,
} from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Database } from './database.ts';
import { JobLane } from './job-queue-lane.ts';
import { JobTable } from './job-queue-table.ts';

export interface SqliteJobQueueOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Of `turn` jobs. Default: equal, without a limit. */
  readonly fairShare?: FairShare;
}

/**
 * The queue of the embedded profile: it runs from memory, and a table in the one file keeps what has not ended over the
 * death of the process. Closing it leaves the database open; what still runs then is waiting again at the next start.
 */
export function createSqliteJobQueue(options: SqliteJobQueueOptions): JobQueue {
  const { database } = options;
  const table = new JobTable(database);
  const lanes: Readonly<Record<JobKind, JobLane>> = {
    turn: new JobLane({ ...options, kind: 'turn', table, share: options.fairShare ?? EQUAL_SHARES }),
    extraction: new JobLane({ ...options, kind: 'extraction', table, share: EQUAL_SHARES }),
  };
  let closed = false;

  function assertOpen(): void {
    if (closed) throw unavailable('The job queue', new Error('the queue is closed'));
  }

  function lane(kind: JobKind): JobLane {
    assertOpen();
    return lanes[kind];
  }

  return {
    kind: 'sqlite',
    enqueue: async (job, { delayMs = 0 } = {}) => lane(job.kind).enqueue(job, delayMs),
    consume: <K extends JobKind>(kind: K, concurrency: number, handler: JobHandler<K>) =>
      // A lane holds jobs of its own kind alone.
      lane(kind).consume(concurrency, (job, run) => handler(job as Extract<Job, { kind: K }>, run)),
    counts: async (kind) => lane(kind).counts(),
    list: async (kind, state, { offset, limit }) => lane(kind).list(state, offset, limit),
    get: async (kind, id) => lane(kind).get(Number(id)),
    retry: async (kind, id) => lane(kind).retry(Number(id)),
    ping: async () => {
      assertOpen();
      database.get('SELECT 1');
    },
    close: async () => {
      closed = true;
      for (const each of Object.values(lanes)) each.close();
    },
  };
}
