import type { SessionEvent } from '../domain/event.ts';
import type { SessionKey } from '../domain/tenant.ts';

/** Where the in-process bus keeps its durable replay log. Synchronous: it lives in the same process. */
export interface EventLog {
  /** Id of the newest event of the session; 0 if there is none. */
  lastId(key: SessionKey): number;
  /** Stores all of it or nothing. An id that is there already is skipped. */
  write(batch: readonly { readonly key: SessionKey; readonly events: readonly SessionEvent[] }[]): void;
  /** Events with an id greater than `after`, ascending, at most `limit`. */
  read(key: SessionKey, after: number, limit: number): readonly SessionEvent[];
  delete(key: SessionKey): void;
  /** Removes events older than `before` (ms since the epoch), at most `limit`. Returns how many. */
  prune(before: number, limit: number): number;
}
