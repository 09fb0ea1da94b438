import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { AppError, unavailable } from '../../domain/errors.ts';
import { type Migration, migrate } from './migrate.ts';
import { sqliteFailure } from './sqlite-failure.ts';

export type Row = Record<string, SQLOutputValue>;

/**
 * One SQLite file, used by the store, the queue and the event log alike. Statements are prepared once. Everything
 * throws `unavailable` where the file cannot be used (closed, disk full, I/O error); then nothing was changed.
 */
export interface Database {
  all(sql: string, ...values: SQLInputValue[]): readonly Row[];
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  /** Number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** Runs `fn` in one write transaction: all of it or, if it throws, nothing. Nested calls join the outer one. */
  transaction<T>(fn: () => T): T;
  close(): void;
}

/**
 * Opens `turnwire.db` under `dataDir` (made if missing) and brings its schema up to date. The folder belongs to one
 * process at a time: a second one is refused with `unavailable` by a lock that the kernel frees when its holder dies.
 */
export function openDatabase(dataDir: string, migrations: readonly Migration[]): Database {
  mkdirSync(dataDir, { recursive: true });
  const lock = lockFolder(dataDir);
  const db = new DatabaseSync(join(dataDir, 'turnwire.db'));
  // NORMAL in WAL mode survives the death of the process at any moment; see docs/decisions.
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000',
  );
  migrate(db, migrations);
  return databaseOver(db, lock);
}

function lockFolder(dataDir: string): DatabaseSync {
  const lock = new DatabaseSync(join(dataDir, 'lock.db'));
  try {
    lock.exec('PRAGMA busy_timeout = 1000; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw new AppError('unavailable', `${dataDir} is in use by another Turnwire process; stop it or set DATA_DIR.`, {
      cause: error,
    });
  }
}

function databaseOver(db: DatabaseSync, lock: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>();
  let depth = 0;

  function statement(sql: string): StatementSync {
    if (!db.isOpen) throw unavailable('The store', new Error('the database is closed'));
    let prepared = statements.get(sql);
    if (prepared === undefined) {
      prepared = db.prepare(sql);
      statements.set(sql, prepared);
    }
    return prepared;
  }

  function using<T>(sql: string, use: (prepared: StatementSync) => T): T {
    try {
      return use(statement(sql));
    } catch (error) {
      throw sqliteFailure(error);
    }
  }

  const run = (sql: string, ...values: SQLInputValue[]) =>
    using(sql, (prepared) => Number(prepared.run(...values).changes));

  return {
    all: (sql, ...values) => using(sql, (prepared) => prepared.all(...values)),
    get: (sql, ...values) => using(sql, (prepared) => prepared.get(...values)),
    run,
    transaction(fn) {
      if (depth > 0) return fn();
      run('BEGIN IMMEDIATE');
      depth += 1;
      try {
        const result = fn();
        run('COMMIT');
        return result;
      } catch (error) {
        if (db.isOpen && db.isTransaction) run('ROLLBACK');
        throw error;
      } finally {
        depth -= 1;
      }
    },
    close() {
      statements.clear();
      if (db.isOpen) db.close();
      if (lock.isOpen) lock.close();
    },
  };
}
