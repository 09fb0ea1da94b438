import type { Migration } from '../migrate.ts';

/**
 * `id` is the order of enqueueing. What runs or waits is `pending` alike, so that starting a job costs no write: a job
 * that was running when its process died is found waiting. Only ended jobs are indexed, for the board.
 */
export const queueMigration: Migration = {
  number: 2,
  name: 'queue',
  sql: `
    CREATE TABLE jobs (
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      tenant_id TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      turn_id TEXT,
      state TEXT NOT NULL CHECK (state IN ('pending', 'completed', 'failed')),
      attempts INTEGER NOT NULL,
      error TEXT,
      due_at INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      finished_at INTEGER
    ) STRICT;
    CREATE INDEX jobs_ended ON jobs (kind, state) WHERE state <> 'pending';
  `,
};
