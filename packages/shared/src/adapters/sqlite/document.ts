import type { Row } from './database.ts';

/** The record in a row's `doc`. Only this store writes that column, so its type is known. */
export function recordOf<T>(row: Row): T {
  return JSON.parse(String(row.doc)) as T;
}

export function recordsOf<T>(rows: readonly Row[]): readonly T[] {
  return rows.map((row) => recordOf<T>(row));
}
