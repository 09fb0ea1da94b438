import { JetStreamApiCodes } from '@nats-io/jetstream';
import { createInbox, headers, type Msg, type Payload } from '@nats-io/transport-node';
import type { Clock } from '../../ports/clock.ts';
import { ANSWER_MS, type NatsLink } from './link.ts';

/** What became of a message that was to be stored. */
export type PublishAnswer =
  | { readonly kind: 'stored'; readonly seq: number }
  /** The subject's last message is not the expected one: nothing was stored. */
  | { readonly kind: 'conflict' }
  /** It may have been stored or not. */
  | { readonly kind: 'unanswered' }
  /** The server can't store it now. */
  | { readonly kind: 'refused'; readonly reason: string };

const UNANSWERED: PublishAnswer = { kind: 'unanswered' };
const EXPECTED_SEQUENCE = 'Nats-Expected-Last-Subject-Sequence';
const CONFLICTS: readonly unknown[] = [
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
];

/**
 * Brings messages to the stream and says what became of each. Its own inbox instead of the client's requests: these do
 * not hear of a lost connection, and here the answer is known to be lost the moment that another connection stands.
 */
export class Publisher {
  readonly #link: NatsLink;
  readonly #clock: Clock;
  readonly #inbox = createInbox();
  readonly #waiting = new Map<string, (answer: PublishAnswer) => void>();
  #count = 0;

  constructor(link: NatsLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    link.connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) =>
        this.#waiting.get(message.subject)?.(error === null ? readAnswer(message) : UNANSWERED),
    });
    link.listen({
      onRestored: () => {
        for (const settle of [...this.#waiting.values()]) settle(UNANSWERED);
      },
    });
  }

  /**
   * Stores a message, if the last one on its subject has the expected sequence (0: there is none; null: any). Resolves
   * within {@link ANSWER_MS}, and while the connection is lost as soon as it stands again. Never rejects.
   */
  publish(subject: string, payload: Payload, expectedSeq: number | null): Promise<PublishAnswer> {
    return new Promise((resolve) => {
      this.#count += 1;
      const reply = `${this.#inbox}.${this.#count}`;
      const settle = (answer: PublishAnswer) => {
        cancelTimer();
        this.#waiting.delete(reply);
        resolve(answer);
      };
      const cancelTimer = this.#clock.after(ANSWER_MS, () => settle(UNANSWERED));
      this.#waiting.set(reply, settle);
      // While the connection is lost the client would drop it: then only the wait is left.
      if (!this.#link.isUp || this.#link.closed) return;
      try {
        this.#link.connection.publish(subject, payload, { reply, ...expectation(expectedSeq) });
      } catch (error) {
        settle({ kind: 'refused', reason: String(error) });
      }
    });
  }
}

function expectation(seq: number | null) {
  if (seq === null) return {};
  const wanted = headers();
  wanted.set(EXPECTED_SEQUENCE, String(seq));
  return { headers: wanted };
}

function readAnswer(message: Msg): PublishAnswer {
  // 503: no stream listens, because there is none or because the server is only starting.
  if (message.data.length === 0) return { kind: 'refused', reason: `status ${message.headers?.code}` };
  const { seq, error } = message.json<{ seq?: number; error?: { err_code?: number; description?: string } }>();
  if (CONFLICTS.includes(error?.err_code)) return { kind: 'conflict' };
  if (error !== undefined || seq === undefined) return { kind: 'refused', reason: error?.description ?? 'no sequence' };
  return { kind: 'stored', seq };
}
