import type { Migration } from '../migrate.ts';

/**
 * A row is a run of events of one turn that were written together: a row for each event costs 15 times as much where
 * a turn's tokens come unpaced. `prev_id` is the id before the first event, `last_id` that of the last one, `ts` the
 * first one's time; `body` holds the rest, see event-log.ts.
 */
export const eventsMigration: Migration = {
  number: 3,
  name: 'events',
  sql: `
    CREATE TABLE events (
      tenant_id TEXT NOT NULL,
      session_id TEXT NOT NULL,
      last_id INTEGER NOT NULL,
      prev_id INTEGER NOT NULL,
      turn_id TEXT NOT NULL,
      ts INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (tenant_id, session_id, last_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX events_by_age ON events (ts);
  `,
};
