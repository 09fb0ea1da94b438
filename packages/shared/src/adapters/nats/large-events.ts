import type { NumberedEvent, SessionEvent } from '../../domain/event.ts';
import { isLarge, type LargeEvent, type LoggedEvent } from './log-message.ts';
import type { PublishAnswer, Publisher } from './publisher.ts';
import type { StreamReader } from './stream-reader.ts';

/**
 * Keeps the data of events that are too large for a message of the log: in parts, under a subject of its own that is not
 * republished. The parts are stored before the event that names them, and so are also dropped before it.
 */
export class LargeEvents {
  readonly #publisher: Publisher;
  readonly #reader: StreamReader;

  constructor(publisher: Publisher, reader: StreamReader) {
    this.#publisher = publisher;
    this.#reader = reader;
  }

  /** Stores the data and answers with the sequences of its parts, or with why it could not. */
  async put(subject: string, event: NumberedEvent, partBytes: number): Promise<readonly number[] | PublishAnswer> {
    const bytes = Buffer.from(JSON.stringify(event.data));
    const parts: number[] = [];
    for (let start = 0; start < bytes.length; start += partBytes) {
      const answer = await this.#publisher.publish(subject, bytes.subarray(start, start + partBytes), null);
      if (answer.kind !== 'stored') return answer;
      parts.push(answer.seq);
    }
    return parts;
  }

  /** The events with their data. One whose data is gone is left out: the next one's `prev` tells of it. */
  async complete(subject: string, events: readonly LoggedEvent[]): Promise<readonly SessionEvent[]> {
    const whole: SessionEvent[] = [];
    for (const event of events) {
      const found = isLarge(event) ? await this.#get(subject, event) : event;
      if (found !== null) whole.push(found);
    }
    return whole;
  }

  async #get(subject: string, { large, ...event }: LargeEvent): Promise<SessionEvent | null> {
    const parts: Uint8Array[] = [];
    for (const seq of large.parts) {
      const part = await this.#reader.bytes(subject, seq);
      if (part === null) return null;
      parts.push(part);
    }
    return { ...event, data: JSON.parse(Buffer.concat(parts).toString()) } as SessionEvent; // written by put alone
  }
}
