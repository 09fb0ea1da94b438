import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../adapters/sqlite/database.ts';
import { allMigrations } from '../adapters/sqlite/migrations/all-migrations.ts';
import { createSqliteStore } from '../adapters/sqlite/store.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import type { StoreHarness } from './store-harness.ts';

export interface OpenedSqliteStore {
  readonly store: Store;
  readonly database: Database;
}

/** The store of a folder, as the embedded profile opens it. */
export function openSqliteStore(dataDir: string, clock: Clock = createSystemClock()): OpenedSqliteStore {
  const database = openDatabase(dataDir, allMigrations);
  return { store: createSqliteStore({ database, clock }), database };
}

export interface SqliteHarness extends StoreHarness, OpenedSqliteStore {
  readonly clock: ManualClock;
}

/** A SQLite store in a folder of its own, under a manual clock. */
export async function makeSqliteStore(): Promise<SqliteHarness> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnwire-store-'));
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const opened = openSqliteStore(dataDir, clock);
  return {
    ...opened,
    clock,
    advance: (ms) => clock.advance(ms),
    async close() {
      await opened.store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
