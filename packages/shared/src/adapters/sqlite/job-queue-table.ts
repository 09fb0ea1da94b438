import type { Job, JobKind, JobRecord, JobState } from '../../ports/job-queue.ts';
import type { Database, Row } from './database.ts';

/** A job that has not ended: it waits, is delayed or runs. */
export interface PendingJob {
  /** Grows in the order of enqueueing. */
  readonly id: number;
  readonly job: Job;
  /** How many attempts have failed. One that the death of its process cut short does not count. */
  readonly attempts: number;
  /** Message of the last failure. */
  readonly error: string | null;
  readonly dueAt: number;
  readonly createdAt: number;
}

export type EndedState = 'completed' | 'failed';

/** The queue's table: a job takes one write to add and one to end. Throws `unavailable`. */
export class JobTable {
  readonly #database: Database;
  #lastId: number;

  constructor(database: Database) {
    this.#database = database;
    this.#lastId = Number(database.get('SELECT max(id) AS id FROM jobs')?.id ?? 0);
  }

  insert(job: Job, dueAt: number, createdAt: number): PendingJob {
    const id = this.#lastId + 1;
    this.#database.run(
      `INSERT INTO jobs (id, kind, tenant_id, subject_id, turn_id, traceparent, state, attempts, due_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, 'pending', 0, ?, ?)`,
      id,
      job.kind,
      job.tenantId,
      subjectOf(job),
      job.kind === 'turn' ? job.turnId : null,
      job.kind === 'turn' ? (job.traceparent ?? null) : null,
      dueAt,
      createdAt,
    );
    this.#lastId = id;
    return { id, job, attempts: 0, error: null, dueAt, createdAt };
  }

  /** Lets a job wait until its `dueAt`; `instead`, one for the same session or user, goes. */
  postpone(pending: PendingJob, instead?: PendingJob): void {
    this.#database.transaction(() => {
      this.#database.run(
        `UPDATE jobs SET state = 'pending', attempts = ?, error = ?, due_at = ?, finished_at = NULL WHERE id = ?`,
        pending.attempts,
        pending.error,
        pending.dueAt,
        pending.id,
      );
      if (instead !== undefined) this.#database.run('DELETE FROM jobs WHERE id = ?', instead.id);
    });
  }

  end(id: number, state: EndedState, attempts: number, error: string | null, finishedAt: number): void {
    this.#database.run(
      'UPDATE jobs SET state = ?, attempts = ?, error = ?, finished_at = ? WHERE id = ?',
      state,
      attempts,
      error,
      finishedAt,
      id,
    );
  }

  /** In the order of enqueueing. */
  pending(kind: JobKind): readonly PendingJob[] {
    return this.#database
      .all(`SELECT * FROM jobs WHERE state = 'pending' AND kind = ? ORDER BY id`, kind)
      .map(toPending);
  }

  /** An ended job; null if there is none with this id. */
  ended(kind: JobKind, id: number): JobRecord | null {
    const row = this.#database.get(`SELECT * FROM jobs WHERE id = ? AND kind = ? AND state <> 'pending'`, id, kind);
    return row === undefined ? null : toRecord(row);
  }

  /** Newest first. */
  listEnded(kind: JobKind, state: EndedState, offset: number, limit: number): readonly JobRecord[] {
    const sql = 'SELECT * FROM jobs WHERE kind = ? AND state = ? ORDER BY id DESC LIMIT ? OFFSET ?';
    return this.#database.all(sql, kind, state, limit, offset).map(toRecord);
  }

  countEnded(kind: JobKind, state: EndedState): number {
    const row = this.#database.get('SELECT count(*) AS n FROM jobs WHERE kind = ? AND state = ?', kind, state);
    return Number(row?.n ?? 0);
  }

  /** Removes the oldest ended jobs, at most `limit`. Returns how many. */
  removeOldest(kind: JobKind, state: EndedState, limit: number): number {
    const sql = 'DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE kind = ? AND state = ? ORDER BY id LIMIT ?)';
    return this.#database.run(sql, kind, state, limit);
  }
}

/** As the board shows it. `attempts` counts the one that runs. */
export function recordOf(pending: PendingJob, state: JobState): JobRecord {
  const { id, job, error, createdAt } = pending;
  const attempts = state === 'active' ? pending.attempts + 1 : pending.attempts;
  return { id: String(id), job, state, attempts, error, createdAt, finishedAt: null };
}

function subjectOf(job: Job): string {
  return job.kind === 'turn' ? job.sessionId : job.userId;
}

function toJob(row: Row): Job {
  const [tenantId, subjectId] = [String(row.tenant_id), String(row.subject_id)];
  if (row.kind === 'extraction') return { kind: 'extraction', tenantId, userId: subjectId };
  const traceparent = textOrNull(row.traceparent);
  const job = { kind: 'turn', tenantId, sessionId: subjectId, turnId: textOrNull(row.turn_id) } as const;
  return traceparent === null ? job : { ...job, traceparent };
}

function toPending(row: Row): PendingJob {
  return {
    id: Number(row.id),
    job: toJob(row),
    attempts: Number(row.attempts),
    error: textOrNull(row.error),
    dueAt: Number(row.due_at),
    createdAt: Number(row.created_at),
  };
}

function toRecord(row: Row): JobRecord {
  return {
    ...recordOf(toPending(row), row.state === 'failed' ? 'failed' : 'completed'),
    finishedAt: Number(row.finished_at),
  };
}

function textOrNull(value: Row[string] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
