import type { Migration } from '../migrate.ts';

export const traceContextMigration: Migration = {
  number: 4,
  name: 'trace context of jobs',
  sql: 'ALTER TABLE jobs ADD COLUMN traceparent TEXT',
};
