import { AckPolicy, DeliverPolicy, type JetStreamManager } from '@nats-io/jetstream';
import { createInbox, type Msg, nanos } from '@nats-io/transport-node';
import type { Clock } from '../../ports/clock.ts';
import { ANSWER_MS, type NatsLink } from './link.ts';
import { orUnavailable } from './nats-failure.ts';

const MESSAGES_PER_PULL = 500;
/** Twice the largest message of a log: one that is larger than the whole pull would never come. */
const BYTES_PER_PULL = 1024 * 1024;
/** A reader may be slower than that: then the consumer is lost, and another is made. */
const IDLE_MS = 60_000;

export interface ConsumerOptions {
  readonly stream: string;
  readonly subject: string;
  readonly from: number;
  readonly link: NatsLink;
  readonly jsm: JetStreamManager;
  readonly clock: Clock;
}

export interface PulledMessage {
  readonly seq: number;
  readonly payload: string;
}

/**
 * An ephemeral consumer that is pulled from, so that the server sends no more than was asked for. The client's own can't
 * be bounded in bytes without long waits, and messages are of 200 B or of 500 kB.
 */
export class StreamConsumer {
  readonly #name: string;
  readonly #options: ConsumerOptions;
  #left: number;
  #delivered = 0;

  private constructor(name: string, left: number, options: ConsumerOptions) {
    this.#name = name;
    this.#left = left;
    this.#options = options;
  }

  static async open(options: ConsumerOptions): Promise<StreamConsumer> {
    const { stream, subject, from, link, jsm } = options;
    link.assertUp();
    const info = await orUnavailable(
      jsm.consumers.add(stream, {
        filter_subject: subject,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: Math.max(from, 1),
        ack_policy: AckPolicy.None,
        max_deliver: 1,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: nanos(IDLE_MS),
      }),
    );
    return new StreamConsumer(info.name, info.num_pending, options);
  }

  /** How many more messages there are, as far as the server has said. */
  get left(): number {
    return this.#left;
  }

  /** The next messages in order, none missing between them. None where none is left, or where the consumer is lost. */
  async pull(): Promise<readonly PulledMessage[]> {
    const { stream, link, clock } = this.#options;
    // Not more than are there for certain: the server would wait for others.
    const batch = Math.min(this.#left, MESSAGES_PER_PULL);
    if (batch === 0) return [];
    const messages: PulledMessage[] = [];
    const ended = Promise.withResolvers<void>();
    const inbox = createInbox();
    const subscription = link.connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null || !this.#take(message, messages) || messages.length === batch) ended.resolve();
      },
    });
    const unlisten = link.listen({ onLost: ended.resolve });
    const cancelTimer = clock.after(ANSWER_MS, ended.resolve);
    const request = { batch, max_bytes: BYTES_PER_PULL, expires: nanos(ANSWER_MS) };
    link.send(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${this.#name}`, JSON.stringify(request), inbox);
    await ended.promise;
    cancelTimer();
    unlisten();
    subscription.unsubscribe();
    return messages;
  }

  close(): void {
    const { jsm, stream } = this.#options;
    jsm.consumers.delete(stream, this.#name).catch(() => {}); // the server drops it when it has been idle
  }

  /** False: the pull is over. A status says that (its bytes are used up, the consumer is gone), or a missing message. */
  #take(message: Msg, into: PulledMessage[]): boolean {
    const place = readPlace(message.reply ?? '');
    if (place === null || place.delivered !== this.#delivered + 1) return false;
    this.#delivered = place.delivered;
    this.#left = place.pending;
    into.push({ seq: place.seq, payload: message.string() });
    return true;
  }
}

/**
 * Where a message is in the stream and in its consumer, from its reply subject (ADR-15 of NATS):
 * `$JS.ACK.<stream>.<consumer>.<tries>.<seq>.<delivered>.<time>.<pending>`, with domain and account after `ACK` and
 * perhaps a random token at the end in newer servers. Null: no message of a consumer.
 */
export function readPlace(reply: string): { seq: number; delivered: number; pending: number } | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return null;
  const at = tokens.length === 9 ? 5 : 7;
  return { seq: Number(tokens[at]), delivered: Number(tokens[at + 1]), pending: Number(tokens[at + 3]) };
}
