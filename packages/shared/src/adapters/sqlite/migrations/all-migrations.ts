import type { Migration } from '../migrate.ts';
import { storeMigration } from './0001-store.ts';
import { queueMigration } from './0002-queue.ts';
import { eventsMigration } from './0003-events.ts';
import { traceContextMigration } from './0004-trace-context.ts';

/** The whole schema, step by step. */
export const allMigrations: readonly Migration[] = [
  storeMigration,
  queueMigration,
  eventsMigration,
  traceContextMigration,
];
