import type { Job as BullJob } from 'bullmq';
import { z } from 'zod';
import type { Job, JobRecord, JobState } from '../../ports/job-queue.ts';

const jobSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('turn'),
    tenantId: z.string(),
    sessionId: z.string(),
    turnId: z.string().nullable(),
    traceparent: z.string().optional(),
  }),
  z.object({ kind: z.literal('extraction'), tenantId: z.string(), userId: z.string() }),
]);

/** Throws if this is not the data of a job of ours. */
export function parseJob(data: unknown): Job {
  return withoutHoles(jobSchema.parse(data));
}

/** JSON has no undefined. */
function withoutHoles(job: z.infer<typeof jobSchema>): Job {
  if (job.kind === 'extraction') return job;
  const { traceparent, ...rest } = job;
  return traceparent === undefined ? rest : { ...rest, traceparent };
}

/** The same for jobs that are the same: for the same session of a tenant, or the same user. */
export function subjectOf(job: Job): string {
  return `${encodeURIComponent(job.tenantId)}/${job.kind === 'turn' ? job.sessionId : job.userId}`;
}

/** A job as the board shows it; null if it is none of ours. `attempts` counts the one that runs. */
export function recordOf(bullJob: BullJob, state: JobState): JobRecord | null {
  const { success, data: job } = jobSchema.safeParse(bullJob.data);
  if (!success || bullJob.id === undefined) return null;
  return {
    id: bullJob.id,
    job: withoutHoles(job),
    state,
    attempts: state === 'active' ? bullJob.attemptsMade + 1 : bullJob.attemptsMade,
    error: state === 'completed' ? null : bullJob.failedReason || null,
    createdAt: bullJob.timestamp,
    finishedAt: bullJob.finishedOn ?? null,
  };
}
