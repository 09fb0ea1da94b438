import { eventData } from '@turnwire/shared/contracts/views';
import { type Announcement, isTerminalEvent, type SessionEvent } from '@turnwire/shared/domain/event';

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

// Comments and `retry` are single lines without a blank one: a blank line dispatches, and decoders in wide use (those of
// the OpenAI and LangGraph packages) then emit an empty event as soon as they have seen an id.
export const GREETING = ': turnwire\nretry: 1000\n';
export const HEARTBEAT = ': ping\n';

/** A durable event on its way to clients: written as text once, at the first client that wants it. */
export class Frame {
  readonly id: number;
  readonly prev: number;
  readonly turnId: string;
  readonly type: SessionEvent['type'];
  #event: SessionEvent | null;
  #text = '';

  constructor(event: SessionEvent) {
    this.id = event.id;
    this.prev = event.prev;
    this.turnId = event.turnId;
    this.type = event.type;
    this.#event = event;
  }

  get text(): string {
    if (this.#event !== null) {
      this.#text = `id: ${this.id}\nevent: ${this.type}\ndata: ${onOneLine(eventData(this.#event))}\n\n`;
      this.#event = null;
    }
    return this.#text;
  }

  /** Whether a turn's own stream is over with it. */
  get endsTurn(): boolean {
    return this.type === 'interrupt' || isTerminalEvent(this.type);
  }
}

/** JSON leaves three characters as they are at which some readers, such as Python's `splitlines`, end a line. */
function onOneLine(json: string): string {
  return json.replace(/[\u0085\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Without an id: it is not in the log, and a cursor must not point to it. */
export function announcementFrame({ type, turnId, ts, data }: Announcement): string {
  return `event: ${type}\ndata: ${JSON.stringify({ turnId, ts, ...data })}\n\n`;
}

/** Events after `from`, up to `to`, are no longer in the log. */
export function gapFrame(gap: {
  readonly turnId: string | null;
  readonly ts: number;
  from: number;
  to: number;
}): string {
  return `event: gap\ndata: ${JSON.stringify(gap)}\n\n`;
}
