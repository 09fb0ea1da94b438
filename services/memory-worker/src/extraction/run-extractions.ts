import { AppError, isAppError } from '@turnwire/shared/domain/errors';
import type { Job, JobQueue, JobRun } from '@turnwire/shared/ports/job-queue';
import type { PendingExtraction } from '@turnwire/shared/ports/memory-store';
import { type ExtractDeps, extractTurn } from './extract-turn.ts';
import { type GiveUpDeps, giveUp } from './give-up.ts';

/** Of one user in a row; then others have their turn. */
const MAX_PER_JOB = 10;

export type ExtractionDeps = ExtractDeps & GiveUpDeps & { readonly queue: Pick<JobQueue, 'enqueue'> };

export interface WorkSignals {
  /** No more is begun. */
  readonly stopping: AbortSignal;
  /** What runs ends at once. */
  readonly ending: AbortSignal;
}

type ExtractionJob = Extract<Job, { kind: 'extraction' }>;

/**
 * The handler of `extraction` jobs: works off what the user's turns owe, oldest first. Rejects when one cannot be done
 * now, so that the queue tries again later; after the last attempt that one is given up.
 */
export async function runExtractions(
  deps: ExtractionDeps,
  job: ExtractionJob,
  run: JobRun,
  signals: WorkSignals,
): Promise<void> {
  // The attempts of a job that is tried again are those of its first extraction: what comes after it starts anew.
  const limit = run.attempt === 1 ? MAX_PER_JOB : 1;
  for (let done = 0; done < limit && !signals.stopping.aborted; done += 1) {
    const pending = await deps.store.extractions.next(job);
    if (pending === null) return;
    await runOne(deps, pending, { job, run, signal: signals.ending });
  }
  await deps.queue.enqueue(job);
}

async function runOne(
  deps: ExtractionDeps,
  pending: PendingExtraction,
  { job, run, signal }: { readonly job: ExtractionJob; readonly run: JobRun; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await extractTurn(deps, pending, signal);
  } catch (error) {
    // Not the extraction's fault: it stays pending, and the sweep brings it back even if this job is used up.
    if (signal.aborted || isAppError(error, 'unavailable')) throw error;
    const cause = isAppError(error) ? error : new AppError('internal', 'The extraction failed.', { cause: error });
    const hopeless = cause.code === 'agent_not_found';
    if (!hopeless && !run.last) throw cause;
    await giveUp(deps, pending.turn, cause, signal);
    if (hopeless) return;
    await deps.queue.enqueue(job); // for the user's next one: this job is kept as failed, for the board
    throw cause;
  }
}
