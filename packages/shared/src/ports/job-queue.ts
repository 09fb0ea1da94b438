/** A wake-up. It names what to look at; what there is to do is in the store. */
export type Job =
  | {
      readonly kind: 'turn';
      readonly tenantId: string;
      readonly sessionId: string;
      readonly turnId: string | null;
      /** Trace context of the call that it follows from (W3C Trace Context, `traceparent`), if that had one. */
      readonly traceparent?: string;
    }
  | { readonly kind: 'extraction'; readonly tenantId: string; readonly userId: string };

export type JobKind = Job['kind'];
export const JOB_KINDS = ['turn', 'extraction'] as const satisfies readonly JobKind[];

export const JOB_STATES = ['waiting', 'active', 'delayed', 'completed', 'failed'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A job as the board shows it. */
export interface JobRecord {
  readonly id: string;
  readonly job: Job;
  readonly state: JobState;
  readonly attempts: number;
  /** Message of the last failure. */
  readonly error: string | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

export interface JobRun {
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
  /** After a failure of this attempt the job is not tried again. */
  readonly last: boolean;
}

/** Resolves: done. Rejects: tried again later with growing delays, after the last attempt kept as `failed`. */
export type JobHandler<K extends JobKind> = (job: Extract<Job, { kind: K }>, run: JobRun) => Promise<void>;

export interface Consumer {
  /** Takes no more jobs and resolves when the running ones have ended, or after `graceMs`, whichever is first. */
  close(graceMs: number): Promise<void>;
}

/** How the time of workers is shared between tenants. */
export interface FairShare {
  /** Jobs of one tenant that run at once, over all processes; 0: no limit. Those beyond it wait in line. */
  readonly maxRunning: number;
  /** How many jobs of this tenant start for one of a tenant with 1, where jobs of both wait. Greater than 0. */
  weightOf(tenantId: string): number;
}

export const EQUAL_SHARES: FairShare = { maxRunning: 0, weightOf: () => 1 };

/**
 * Wakes workers; each job goes to one consumer of its kind, at least once, by event and not by polling. Losing all of
 * it loses nothing but time, since the sweeper enqueues again what the store says is due.
 *
 * Two jobs are the same if they are for the same session (`turn`) or the same user (`extraction`): one that is still
 * waiting is not added twice; one that is running does not count, so that a wake-up is never swallowed by a run that
 * has looked already. A job that was running when its process died is waiting again within 30 s.
 *
 * `turn` jobs start in an order that is fair over tenants (see {@link FairShare}): one that has a thousand waiting does not
 * make another wait behind them. Those of one tenant start in the order in which they came.
 */
export interface JobQueue {
  /** What the queue is, for `/readyz` and the log, such as `sqlite`. */
  readonly kind: string;
  /** Resolves when the queue has it. Throws `unavailable`. */
  enqueue(job: Job, options?: { readonly delayMs?: number }): Promise<void>;
  /** Starts taking jobs, up to `concurrency` at once in this process. */
  consume<K extends JobKind>(kind: K, concurrency: number, handler: JobHandler<K>): Consumer;
  counts(kind: JobKind): Promise<Readonly<Record<JobState, number>>>;
  /** Newest first. `offset` and `limit` count jobs. */
  list(
    kind: JobKind,
    state: JobState,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<readonly JobRecord[]>;
  get(kind: JobKind, id: string): Promise<JobRecord | null>;
  /** Lets a failed job wait again. False if it is not failed. */
  retry(kind: JobKind, id: string): Promise<boolean>;
  /** Throws `unavailable` if the queue does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
