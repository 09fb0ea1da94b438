import type { JetStreamManager } from '@nats-io/jetstream';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { NatsLink } from './link.ts';
import { type LogMessage, readLogMessage } from './log-message.ts';
import { busUnavailable, orUnavailable } from './nats-failure.ts';
import { ReadLanes } from './read-lanes.ts';
import { type PulledMessage, StreamConsumer } from './stream-consumer.ts';

/** As many messages are got one by one before a consumer is worth its making (about as long as ten gets). */
const SINGLE_GETS = 8;
const MAX_LOST_CONSUMERS = 5;

export interface StreamReaderOptions {
  readonly stream: string;
  readonly link: NatsLink;
  readonly jsm: JetStreamManager;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Reads the messages of one subject. All methods throw `unavailable`, and at once while the connection is lost. */
export class StreamReader {
  readonly #options: StreamReaderOptions;
  readonly #lanes = new ReadLanes();

  constructor(options: StreamReaderOptions) {
    this.#options = options;
  }

  /** The last message of a session's log. From the stream's leader: it has all that anybody was told of. */
  async tail(subject: string): Promise<LogMessage | null> {
    const { stream, link, jsm } = this.#options;
    link.assertUp();
    const query = { last_by_subj: subject };
    const found = await this.#lanes.run(() => orUnavailable(jsm.streams.getMessage(stream, query)));
    return found === null ? null : this.#parse(subject, found.seq, found.string());
  }

  /** Whether the stream answers: not kept waiting by other reads. */
  async probe(subject: string): Promise<void> {
    const { stream, link, jsm } = this.#options;
    link.assertUp();
    await orUnavailable(jsm.streams.getMessage(stream, { last_by_subj: subject }));
  }

  /** The first message with this sequence or a greater one. Null: none, or this server does not know of it yet. */
  async next(subject: string, seq: number): Promise<LogMessage | null> {
    const { stream, link, jsm } = this.#options;
    link.assertUp();
    const query = { seq: Math.max(seq, 1), next_by_subj: subject };
    const found = await this.#lanes.run(() => orUnavailable(jsm.direct.getMessage(stream, query)));
    return found === null ? null : this.#parse(subject, found.seq, found.string());
  }

  /** The bytes of the message with exactly this sequence, if it is there and of this subject. */
  async bytes(subject: string, seq: number): Promise<Uint8Array | null> {
    const { stream, link, jsm } = this.#options;
    link.assertUp();
    const found = await this.#lanes.run(() => orUnavailable(jsm.direct.getMessage(stream, { seq })));
    return found?.subject === subject ? found.data : null;
  }

  /** The messages with sequences from `from` up to `to`, which has to be in the stream already. Read lazily. */
  async *read(subject: string, from: number, to: number): AsyncGenerator<LogMessage, void, void> {
    let next = from;
    for (let gets = 0; gets < SINGLE_GETS && next <= to; gets += 1) {
      const message = await this.next(subject, next);
      if (message === null) break;
      if (message.seq > to) return;
      next = message.seq + 1;
      yield message;
    }
    if (next <= to) yield* this.#consume(subject, next, to);
  }

  /** Reads through a consumer; where that one is lost, through another from there on. */
  async *#consume(subject: string, from: number, to: number): AsyncGenerator<LogMessage, void, void> {
    const { stream, link, jsm, clock } = this.#options;
    let next = from;
    for (let lost = 0; lost <= MAX_LOST_CONSUMERS; lost += 1) {
      const consumer = await StreamConsumer.open({ stream, subject, from: next, link, jsm, clock });
      try {
        for await (const { seq, payload } of this.#pulled(consumer)) {
          if (seq > to) return;
          next = seq + 1;
          lost = 0;
          yield this.#parse(subject, seq, payload);
          if (next > to) return;
        }
        if (consumer.left === 0) return;
      } finally {
        consumer.close();
      }
    }
    throw busUnavailable(new Error('consumers of the stream are lost again and again'));
  }

  /** Ends when the consumer has nothing left, or is lost. */
  async *#pulled(consumer: StreamConsumer): AsyncGenerator<PulledMessage, void, void> {
    for (;;) {
      const messages = await this.#lanes.run(() => consumer.pull());
      if (messages.length === 0) return;
      yield* messages;
    }
  }

  #parse(subject: string, seq: number, payload: string): LogMessage {
    const message = readLogMessage(seq, payload);
    if (message !== null) return message;
    this.#options.log.error({ subject, seq }, 'A message of the log can not be read; it is passed over.');
    return { seq, events: [], lastId: 0, deleted: false };
  }
}
