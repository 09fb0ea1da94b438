import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../domain/errors.ts';

/** One step of the schema. Released ones are never changed: a new step follows. */
export interface Migration {
  /** From 1, without gaps. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** Applies the steps that the file has not seen, each in a transaction of its own. Refuses a file of a newer version. */
export function migrate(db: DatabaseSync, migrations: readonly Migration[]): void {
  const found = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (found > migrations.length) {
    throw new AppError(
      'unavailable',
      `The database is at schema ${found}, newer than this version's ${migrations.length}.`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (migration.number !== index + 1) throw new Error(`Migration ${migration.name} is out of order.`);
    if (migration.number <= found) continue;
    db.exec('BEGIN IMMEDIATE');
    try {
      db.exec(migration.sql);
      db.exec(`PRAGMA user_version = ${migration.number}`);
      db.exec('COMMIT');
    } catch (error) {
      db.exec('ROLLBACK');
      throw error;
    }
  }
}
