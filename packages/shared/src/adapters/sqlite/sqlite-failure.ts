import { unavailable } from '../../domain/errors.ts';

// https://sqlite.org/rescode.html: a wrong statement or value, which no retry and no operator can mend.
const OUR_MISTAKES = new Set([
  1, // SQLITE_ERROR
  19, // SQLITE_CONSTRAINT
  20, // SQLITE_MISMATCH
  21, // SQLITE_MISUSE
  25, // SQLITE_RANGE
]);

/** A full disk, a failing one, a locked or damaged file: the store is `unavailable`. Anything else stays as it is. */
export function sqliteFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error;
  const primaryCode = error.errcode & 0xff;
  return OUR_MISTAKES.has(primaryCode) ? error : unavailable('The store', error);
}
