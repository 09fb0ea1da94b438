import { tokenOf } from '../../domain/event.ts';
import type { LogMessage } from './log-message.ts';

/** So many events too early cost less than another look. */
const NEAR = 64;

export type NextMessage = (seq: number) => Promise<LogMessage | null>;

/**
 * A sequence from which on all events with an id greater than `after` are found, few older ones among them. A message is
 * looked at where the id ought to be (in one lease's time ids and sequences grow alike) and, by turns, in the middle, so
 * that some twenty looks find it wherever it is.
 */
export async function findStart(next: NextMessage, after: number, tail: LogMessage): Promise<number> {
  const first = after <= 0 ? null : await next(1);
  if (first === null || first.lastId > after) return 1;
  let low = { seq: first.seq, id: first.lastId }; // its events are all older
  let high = { seq: tail.seq, id: tail.lastId }; // at or behind the first message to read
  for (let look = 0; high.seq - low.seq > 1 && !isNear(low.id, after); look += 1) {
    const share = look % 2 === 0 ? (after - low.id) / (high.id - low.id) : 0.5;
    const seq = within(low.seq + 1, Math.floor(low.seq + share * (high.seq - low.seq)), high.seq - 1);
    const found = await next(seq);
    if (found === null) break; // a follower that lags: from `low` on is right, if earlier than need be
    if (found.lastId > after) high = { seq, id: found.lastId };
    else low = { seq: found.seq, id: found.lastId };
  }
  return low.seq + 1;
}

function isNear(id: number, after: number): boolean {
  return tokenOf(id) === tokenOf(after) && after - id < NEAR;
}

function within(least: number, value: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
