import type { NumberedEvent, SessionEvent } from '../../domain/event.ts';
import { isJsonObject } from '../../domain/json.ts';

/** An event whose data was too large for a message of the log: where the parts of its data are in the stream. */
export interface LargeEvent extends Pick<SessionEvent, 'type' | 'turnId' | 'ts' | 'id' | 'prev'> {
  readonly large: { readonly parts: readonly number[] };
}

export type LoggedEvent = SessionEvent | LargeEvent;

/** One message of a session's log. */
export interface LogMessage {
  /** Its place in the stream. */
  readonly seq: number;
  readonly events: readonly LoggedEvent[];
  /** Id of its last event; 0 if it has none. */
  readonly lastId: number;
  /** The session was deleted: nobody may write to it any more. */
  readonly deleted: boolean;
}

export interface Batch {
  readonly payload: string;
  readonly lastId: number;
}

/** What stands in the log of a deleted session. */
export const DELETED = '"deleted"';

const MAX_EVENTS = 256;
export const MAX_MESSAGE_BYTES = 512 * 1024;

/** The first of the events as one message. Null when the very first is too large. `prev`: the id before them. */
export function takeBatch(events: readonly NumberedEvent[], prev: number, maxBytes: number): Batch | null {
  let payload = '';
  let bytes = 1;
  let lastId = prev;
  for (let n = 0; n < MAX_EVENTS; n += 1) {
    const event = events[n];
    if (event === undefined) break;
    const text = JSON.stringify({ ...event, prev: lastId });
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxBytes) break;
    payload += payload === '' ? text : `,${text}`;
    lastId = event.id;
  }
  return payload === '' ? null : { payload: `[${payload}]`, lastId };
}

/** The message of an event whose data is stored elsewhere. */
export function largeBatch({ data: _, ...event }: NumberedEvent, prev: number, parts: readonly number[]): Batch {
  const reference: LargeEvent = { ...event, prev, large: { parts } };
  return { payload: JSON.stringify([reference]), lastId: event.id };
}

export function isLarge(event: LoggedEvent): event is LargeEvent {
  return 'large' in event;
}

/** Null: no program of ours wrote this. */
export function readLogMessage(seq: number, payload: string): LogMessage | null {
  let body: unknown;
  try {
    body = JSON.parse(payload);
  } catch {
    return null;
  }
  if (payload === DELETED) return { seq, events: [], lastId: 0, deleted: true };
  if (!Array.isArray(body) || !body.every((event) => isJsonObject(event) && Number.isSafeInteger(event.id)))
    return null;
  const events = body as readonly LoggedEvent[]; // written by the two functions above alone
  return { seq, events, lastId: events.at(-1)?.id ?? 0, deleted: false };
}
