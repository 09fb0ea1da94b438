import { leaseLost, unavailable } from '../../domain/errors.ts';
import { type NumberedEvent, tokenOf } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventWriter } from '../../ports/event-bus.ts';
import type { Logger } from '../../ports/logger.ts';
import type { LargeEvents } from './large-events.ts';
import { ANSWER_MS, type NatsLink } from './link.ts';
import { type Batch, type LogMessage, largeBatch, MAX_MESSAGE_BYTES, takeBatch } from './log-message.ts';
import type { PublishAnswer, Publisher } from './publisher.ts';
import type { SessionSubjects } from './subjects.ts';

/** How long `flush` waits for a log that does not get any further. */
const FLUSH_MS = ANSWER_MS;
/** Left in a message of the server's greatest size for its headers. */
const HEADER_BYTES = 4_096;
const MAX_PAUSE_MS = 2_000;

export interface EventWriterOptions {
  readonly key: SessionKey;
  readonly token: number;
  readonly subjects: SessionSubjects;
  /** The last message of the log when it was opened. */
  readonly tail: LogMessage | null;
  readonly readTail: () => Promise<LogMessage | null>;
  readonly link: NatsLink;
  readonly publisher: Publisher;
  readonly largeEvents: LargeEvents;
  readonly clock: Clock;
  readonly log: Logger;
}

/** `none`: no answer came, after a wait or a lost connection, so that there is nothing more to wait for. */
type Progress = 'made' | 'none' | 'refused';

interface FlushWaiter {
  readonly id: number;
  readonly done: () => void;
}

/**
 * Publishes one session's events, one message at a time: what comes while one is on its way goes with the next. Each
 * names the last message before it, so that the server takes no message twice, none out of order, and none of a holder
 * whose successor has written.
 */
export class NatsEventWriter implements EventWriter {
  readonly #options: EventWriterOptions;
  readonly #waiters = new Set<FlushWaiter>();
  #pending: NumberedEvent[] = [];
  /** Id of the last event that was taken. */
  #takenId: number;
  #confirmedId: number;
  /** Sequence of the log's last message, as far as this writer knows. */
  #lastSeq: number;
  #state: 'open' | 'closed' | 'lost' = 'open';
  #publishing = false;
  /** Said once for as long as it lasts. */
  #isRefused = false;
  /** A large event whose data is stored already. */
  #uploaded: { readonly id: number; readonly parts: readonly number[] } | null = null;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#lastSeq = options.tail?.seq ?? 0;
    this.#confirmedId = options.tail?.lastId ?? 0;
    this.#takenId = this.#confirmedId;
  }

  get confirmedId(): number {
    return this.#confirmedId;
  }

  append(events: readonly NumberedEvent[]): void {
    if (this.#state !== 'open' || this.#options.link.closed) return;
    for (const event of events) {
      if (event.id <= this.#takenId) continue;
      this.#pending.push(event);
      this.#takenId = event.id;
    }
    if (this.#pending.length > 0 && !this.#publishing) void this.#publishAll();
  }

  async flush(): Promise<void> {
    const target = this.#takenId;
    const { link, key, token } = this.#options;
    for (let before = -1; this.#state === 'open' && !link.closed && this.#confirmedId < target; ) {
      if (this.#confirmedId === before) break;
      before = this.#confirmedId;
      await this.#confirmed(target);
    }
    const isMissing = this.#confirmedId < target;
    if (this.#state === 'lost' || (this.#state === 'closed' && isMissing)) throw leaseLost(key.sessionId, token);
    if (link.closed) throw unavailable('The event bus', new Error('the bus is closed'));
    if (isMissing) throw unavailable('The event bus', new Error('the log does not confirm'));
  }

  /** What was taken is still brought to the log, unless that fails: then it is the next holder's. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closed';
  }

  /** Resolves when this id is in the log, when it can't get there any more, or when that takes too long. */
  #confirmed(id: number): Promise<void> {
    return new Promise((resolve) => {
      const waiter: FlushWaiter = {
        id,
        done: () => {
          cancelTimer();
          this.#waiters.delete(waiter);
          resolve();
        },
      };
      const cancelTimer = this.#options.clock.after(FLUSH_MS, waiter.done);
      this.#waiters.add(waiter);
    });
  }

  async #publishAll(): Promise<void> {
    this.#publishing = true;
    for (let failures = 0; this.#pending.length > 0; ) {
      const progress = await this.#publishNext();
      if (this.#state === 'lost' || this.#options.link.closed) break;
      if (this.#state === 'closed' && progress !== 'made') break;
      if (progress === 'made') failures = 0;
      if (progress === 'refused') failures += 1;
      // The first refusal is a race most often: the next try may well succeed at once.
      if (failures > 1) await this.#options.clock.sleep(Math.min(25 * 2 ** failures, MAX_PAUSE_MS));
    }
    this.#publishing = false;
    if (this.#state !== 'open') this.#pending = [];
    for (const waiter of this.#waiters) waiter.done();
  }

  /** Tries to bring the log further by one message. */
  async #publishNext(): Promise<Progress> {
    const batch = await this.#nextBatch();
    if (batch === null) return 'none';
    if ('kind' in batch) return this.#failed(batch);
    const { publisher, subjects } = this.#options;
    const answer = await publisher.publish(subjects.log, batch.payload, this.#lastSeq);
    switch (answer.kind) {
      case 'stored':
        this.#lastSeq = answer.seq;
        this.#isRefused = false;
        this.#confirm(batch.lastId);
        return 'made';
      case 'conflict':
        return this.#adoptTail();
      case 'unanswered':
      case 'refused':
        return this.#failed(answer);
    }
  }

  /** Null: there is nothing to publish. */
  async #nextBatch(): Promise<Batch | PublishAnswer | null> {
    const { link, largeEvents, subjects } = this.#options;
    const maxBytes = Math.min(MAX_MESSAGE_BYTES, link.maxPayload - HEADER_BYTES);
    const batch = takeBatch(this.#pending, this.#confirmedId, maxBytes);
    const [event] = this.#pending;
    if (batch !== null || event === undefined) return batch;
    if (this.#uploaded?.id !== event.id) {
      const parts = await largeEvents.put(subjects.large, event, maxBytes);
      if ('kind' in parts) return parts;
      this.#uploaded = { id: event.id, parts };
    }
    return largeBatch(event, this.#confirmedId, this.#uploaded.parts);
  }

  /**
   * The log's last message is another than was thought. It may be ours, when an answer was lost; an older holder's, which
   * had it on its way; a newer one's, and then this writer has lost; or none, when all were dropped for their age.
   */
  async #adoptTail(): Promise<Progress> {
    const { readTail, token } = this.#options;
    let tail: LogMessage | null;
    try {
      tail = await readTail();
    } catch {
      return 'refused';
    }
    if (tail !== null && (tail.deleted || tokenOf(tail.lastId) > token)) {
      this.#state = 'lost';
      return 'none';
    }
    const before = this.#confirmedId;
    this.#lastSeq = tail?.seq ?? 0;
    if (tail === null) this.#uploaded = null; // perhaps the whole stream is another one
    this.#confirm(tail?.lastId ?? 0);
    return this.#confirmedId > before ? 'made' : 'refused';
  }

  /** Everything up to this id is in the log. */
  #confirm(id: number): void {
    this.#confirmedId = Math.max(this.#confirmedId, id);
    this.#takenId = Math.max(this.#takenId, id);
    const rest = this.#pending.findIndex((event) => event.id > id);
    this.#pending.splice(0, rest === -1 ? this.#pending.length : rest);
    for (const waiter of this.#waiters) if (waiter.id <= this.#confirmedId) waiter.done();
  }

  #failed(answer: PublishAnswer): Progress {
    if (answer.kind !== 'refused') return 'none';
    const { log, key } = this.#options;
    if (!this.#isRefused) log.warn({ ...key, reason: answer.reason }, 'Events can not be logged; trying again.');
    this.#isRefused = true;
    return 'refused';
  }
}
