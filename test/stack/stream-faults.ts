import type { EventStream, StreamEvent } from './event-stream.ts';
import type { Follower } from './follower.ts';

/** Only the log has these, and a holder that dies can have shown more of them than the log kept. */
const UNSTORED = new Set(['step.started', 'turn.delta', 'reasoning.delta', 'turn.reset']);

/** G5: ids grow, `prev` leaves no hole, nothing is said to be lost. */
export function logFaults(sessionId: string, log: readonly StreamEvent[]): string[] {
  let last = 0;
  return log.flatMap(({ id, type, data }) => {
    if (type === 'gap') return [`${sessionId}: a gap in the log`];
    if (id === null) return [];
    const faults: string[] = [];
    if (id <= last) faults.push(`${sessionId}: event ${id} after ${last}`);
    if (data.prev !== last) faults.push(`${sessionId}: event ${id} (${type}) follows ${data.prev}, not ${last}`);
    last = id;
    return faults;
  });
}

/**
 * The same for a client that was there, over its reconnects. An event that it alone has was shown by a holder that died
 * before the log had it.
 */
export function followerFaults(
  follower: Pick<Follower, 'sessionId' | 'events' | 'announcements' | 'lastEventId'>,
  log: readonly StreamEvent[] | null,
): string[] {
  if (log === null) return [];
  const { sessionId, events, announcements, lastEventId } = follower;
  const told = new Set(events.map(({ id }) => id));
  const gaps = announcements.filter(({ type }) => type === 'gap');
  const missed = log.filter(({ id }) => id !== null && id <= lastEventId && !told.has(id));
  return [
    ...gaps.map(({ data }) => `${sessionId}: the client was told of a gap from ${data.from} to ${data.to}`),
    ...missed.map(({ id, type }) => `${sessionId}: the client never got ${type} ${id}`),
    ...events.flatMap((event, i) =>
      placeFaults(event, events.slice(0, i), log).map((fault) => `${sessionId}: ${fault}`),
    ),
  ];
}

function placeFaults(event: StreamEvent, before: readonly StreamEvent[], log: readonly StreamEvent[]): string[] {
  const { id, type, data } = event;
  const faults: string[] = [];
  const last = before.at(-1)?.id ?? 0;
  const logged = log.find((one) => one.id === id);
  if (id === null || id <= last) faults.push(`the client got ${id} after ${last}`);
  if (data.prev !== 0 && !before.some((one) => one.id === data.prev)) faults.push(`${id} came without ${data.prev}`);
  const skipped = before.filter((one) => (one.id ?? 0) > data.prev && log.some(({ id: kept }) => kept === one.id));
  if (skipped.length > 0) faults.push(`${id} follows ${data.prev} as if the log had not ${skipped[0]?.id}`);
  if (logged === undefined && !UNSTORED.has(type)) faults.push(`the client has ${type} ${id}, the log has not`);
  if (logged !== undefined && !isSame(event, logged)) faults.push(`event ${id} has two contents`);
  return faults;
}

/** Any other stream: ids grow, and what the log has of it is the same there. */
export function streamFaults(
  { path, events, ids }: Pick<EventStream, 'path' | 'events' | 'ids'>,
  log: readonly StreamEvent[] | null,
): string[] {
  const disorder = ids.filter((id, i) => id <= (ids[i - 1] ?? 0));
  const others = events
    .filter(({ id }) => id !== null)
    .filter((event) => {
      const logged = log?.find(({ id }) => id === event.id);
      return logged !== undefined && !isSame(event, logged);
    });
  return [
    ...disorder.map((id) => `${path}: ${id} does not grow`),
    ...others.map(({ id }) => `${path}: event ${id} is not what the log has`),
  ];
}

function isSame(one: StreamEvent, other: StreamEvent): boolean {
  return one.type === other.type && JSON.stringify(one.data) === JSON.stringify(other.data);
}
