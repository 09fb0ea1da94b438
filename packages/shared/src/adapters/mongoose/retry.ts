import { setTimeout as sleep } from 'node:timers/promises';
import { mongo } from 'mongoose';
import { unavailable } from '../../domain/errors.ts';

/** Another write came first; the same attempt may go through when it is repeated. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/** As the driver's `withTransaction` waits, but not for its two minutes: a caller holds a lease or a connection. */
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 500;
const GROWTH = 1.5;
const GIVE_UP_MS = 8_000;

/** Repeats what failed by a conflict or was broken off by the server, with growing, jittered waits. Then `unavailable`. */
export async function retryConflicts<R>(attempt: () => Promise<R>): Promise<R> {
  const end = performance.now() + GIVE_UP_MS;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * GROWTH, LONGEST_WAIT_MS)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (performance.now() + wait > end) throw unavailable('The store', error);
    }
    await sleep(Math.random() * wait);
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof Conflict) return true;
  // A conflict of one operation of a bulk comes without the label.
  if (error instanceof mongo.MongoServerError && error.code === WRITE_CONFLICT) return true;
  return error instanceof mongo.MongoError && error.hasErrorLabel(TRANSIENT);
}

const TRANSIENT = mongo.MongoErrorLabel.TransientTransactionError;
const WRITE_CONFLICT = 112;
export const DUPLICATE_KEY = 11_000;

/** Whether a command failed since an id is taken already. */
export function isDuplicate(error: unknown): error is mongo.MongoServerError {
  return error instanceof mongo.MongoServerError && error.code === DUPLICATE_KEY;
}
