import type { QueueJob, QueueJobJson } from '@bull-board/api/typings/app';
import type { Job, JobRecord } from '@turnwire/shared/ports/job-queue';

export interface BoardJobActions {
  retry(): Promise<void>;
  refuse(): Promise<never>;
}

/**
 * A job as bull-board sees it. Its data are ids, since neither what users wrote nor secrets come into a queue, and how
 * often it was tried, which the page shows elsewhere for long ids only.
 */
export function boardJob(record: JobRecord, { retry, refuse }: BoardJobActions): QueueJob {
  return {
    opts: {},
    retry,
    promote: refuse,
    remove: refuse,
    getState: async () => record.state,
    toJSON: () => jsonOf(record),
  };
}

function jsonOf({ id, job, attempts, error, createdAt, finishedAt }: JobRecord): QueueJobJson {
  return {
    id,
    name: job.kind === 'turn' ? job.sessionId : job.userId,
    data: { ...job, attempts },
    attemptsMade: attempts,
    timestamp: createdAt,
    finishedOn: finishedAt,
    failedReason: error ?? '',
    stacktrace: null,
    progress: 0,
    returnvalue: null,
    opts: {},
  };
}

/** Where the API tells more about what a job is for. */
export function linkOf({ data }: QueueJobJson): { displayText: string; href: string } {
  const job: Job = data; // of `jsonOf`
  return job.kind === 'turn'
    ? { displayText: 'Session', href: `/v1/sessions/${encodeURIComponent(job.sessionId)}` }
    : { displayText: 'Memories', href: `/v1/memories?userId=${encodeURIComponent(job.userId)}` };
}
