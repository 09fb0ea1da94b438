import type { EventType, SessionEvent } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Database, Row } from './database.ts';

/** One event in a row's body. Ids and times are counted from the event before it; the first one's from the row. */
type Packed = readonly [idStep: number, tsStep: number, type: EventType, data: SessionEvent['data']];

/** Keeps a row small enough to read one for a few of its events. */
const MAX_EVENTS_PER_ROW = 100;
/** Rows fetched at once: one may hold a single event, or a hundred. */
const ROWS_PER_READ = 32;

const OF_SESSION = 'tenant_id = ? AND session_id = ?';

export function createSqliteEventLog(database: Database): EventLog {
  return {
    lastId: (key) => lastId(database, key),
    write(batch) {
      database.transaction(() => {
        for (const { key, events } of batch) writeEvents(database, key, events);
      });
    },
    read: (key, after, limit) => readEvents(database, key, after, limit),
    delete(key) {
      database.run(`DELETE FROM events WHERE ${OF_SESSION}`, key.tenantId, key.sessionId);
    },
    prune: (before, limit) => database.transaction(() => pruneEvents(database, before, limit)),
  };
}

function lastId(database: Database, key: SessionKey): number {
  const row = database.get(
    `SELECT last_id FROM events WHERE ${OF_SESSION} ORDER BY last_id DESC LIMIT 1`,
    key.tenantId,
    key.sessionId,
  );
  return Number(row?.last_id ?? 0);
}

function writeEvents(database: Database, key: SessionKey, events: readonly SessionEvent[]): void {
  const tail = lastId(database, key);
  const fresh = events.filter(({ id }) => id > tail);
  for (let start = 0; start < fresh.length; ) {
    const end = endOfRow(fresh, start);
    writeRow(database, key, fresh.slice(start, end));
    start = end;
  }
}

/** Where the row that begins at `start` ends: it holds one turn's events, without a hole in the chain of `prev`. */
function endOfRow(events: readonly SessionEvent[], start: number): number {
  let end = start + 1;
  while (end < events.length && end - start < MAX_EVENTS_PER_ROW) {
    const [before, event] = [events[end - 1], events[end]];
    if (event?.turnId !== before?.turnId || event?.prev !== before?.id) break;
    end += 1;
  }
  return end;
}

function writeRow(database: Database, key: SessionKey, events: readonly SessionEvent[]): void {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return;
  let ts = first.ts;
  const packed = events.map((event): Packed => {
    const tsStep = event.ts - ts;
    ts = event.ts;
    return [event.id - event.prev, tsStep, event.type, event.data];
  });
  database.run(
    'INSERT INTO events (tenant_id, session_id, last_id, prev_id, turn_id, ts, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
    key.tenantId,
    key.sessionId,
    last.id,
    first.prev,
    first.turnId,
    first.ts,
    JSON.stringify(packed),
  );
}

function readEvents(database: Database, key: SessionKey, after: number, limit: number): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  for (;;) {
    const rows = readRows(database, key, events.at(-1)?.id ?? after);
    for (const row of rows) {
      events.push(...unpack(row).filter(({ id }) => id > after));
      if (events.length >= limit) return events.slice(0, limit);
    }
    if (rows.length < ROWS_PER_READ) return events;
  }
}

function readRows(database: Database, key: SessionKey, after: number): readonly Row[] {
  return database.all(
    `SELECT prev_id, turn_id, ts, body FROM events WHERE ${OF_SESSION} AND last_id > ? ORDER BY last_id LIMIT ?`,
    key.tenantId,
    key.sessionId,
    after,
    ROWS_PER_READ,
  );
}

function unpack(row: Row): readonly SessionEvent[] {
  const packed = JSON.parse(String(row.body)) as readonly Packed[]; // written by writeRow alone
  const turnId = String(row.turn_id);
  let id = Number(row.prev_id);
  let ts = Number(row.ts);
  return packed.map(([idStep, tsStep, type, data]) => {
    const prev = id;
    id += idStep;
    ts += tsStep;
    return { type, turnId, data, ts, id, prev } as SessionEvent;
  });
}

/** Takes events off the front of the oldest rows; a row of which some are left is written anew. */
function pruneEvents(database: Database, before: number, limit: number): number {
  let pruned = 0;
  while (pruned < limit) {
    const row = database.get('SELECT * FROM events WHERE ts < ? ORDER BY ts LIMIT 1', before);
    if (row === undefined) break;
    const key = { tenantId: String(row.tenant_id), sessionId: String(row.session_id) };
    const events = unpack(row);
    const young = events.findIndex(({ ts }) => ts >= before);
    const count = Math.min(young === -1 ? events.length : young, limit - pruned);
    database.run(
      `DELETE FROM events WHERE ${OF_SESSION} AND last_id = ?`,
      key.tenantId,
      key.sessionId,
      Number(row.last_id),
    );
    writeRow(database, key, events.slice(count));
    pruned += count;
  }
  return pruned;
}
