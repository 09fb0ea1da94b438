import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Announcement, SessionEvent } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventListener } from '../../ports/event-bus.ts';
import type { Logger } from '../../ports/logger.ts';
import type { LargeEvents } from './large-events.ts';
import type { NatsLink } from './link.ts';
import { isLarge, type LogMessage, readLogMessage } from './log-message.ts';
import type { StreamReader } from './stream-reader.ts';
import { LIVE_EVENTS, type SessionSubjects } from './subjects.ts';

/** While a hole is filled, live messages are kept up to this many; what is dropped is a hole again, and filled. */
const MAX_HELD = 1_000;
const RETRY_MS = 250;

export interface FeedDeps {
  readonly link: Pick<NatsLink, 'isUp' | 'closed'> & { readonly connection: Pick<NatsConnection, 'subscribe'> };
  readonly reader: Pick<StreamReader, 'tail' | 'read'>;
  readonly largeEvents: Pick<LargeEvents, 'complete'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Watcher {
  readonly listener: EventListener;
}

/** A message as subscribers get it, with the sequence of the one before it on this session. */
interface LiveMessage {
  readonly message: LogMessage;
  readonly previousSeq: number;
}

/**
 * What this process hears of one session, for all of its subscribers here. Live messages come without any promise, but
 * each names the one before it: where one is missing, it is read from the stream before anything else is told.
 */
export class SessionFeed {
  readonly key: SessionKey;
  readonly watchers = new Set<Watcher>();
  /** Rejects with `unavailable`. */
  readonly ready: Promise<void>;
  readonly #deps: FeedDeps;
  readonly #subjects: SessionSubjects;
  readonly #subscription: Subscription;
  /** Everything up to this sequence was told or came before the subscription; null: not known yet. */
  #seenSeq: number | null = null;
  /** Everything up to this one is known to be in the stream. */
  #knownSeq = 0;
  #lastId = 0;
  #held: LiveMessage[] = [];
  #catchingUp = false;
  #closed = false;
  #heardSinceCheck = false;

  constructor(key: SessionKey, subjects: SessionSubjects, deps: FeedDeps) {
    this.key = key;
    this.#deps = deps;
    this.#subjects = subjects;
    this.#subscription = deps.link.connection.subscribe(subjects.heard, {
      callback: (error, message) => {
        if (error === null) this.#hear(message);
        else deps.log.error({ err: error, ...key }, 'The NATS server refuses a subscription.');
      },
    });
    this.ready = this.#begin();
  }

  /** Nothing came since the last call: whether that is all there is, only the stream knows. */
  takeSilence(): boolean {
    const silent = !this.#heardSinceCheck;
    this.#heardSinceCheck = false;
    return silent;
  }

  /** Looks whether the stream has more than was told here, and tells it. Throws `unavailable`. */
  async check(): Promise<void> {
    const seenSeq = this.#seenSeq;
    const tail = await this.#deps.reader.tail(this.#subjects.log);
    if (this.#closed || seenSeq === null) return;
    const tailSeq = tail?.seq ?? 0;
    // A stream that was restored may be further back than it was: from there on it is new.
    if (tailSeq < seenSeq && seenSeq === this.#seenSeq) this.#seenSeq = this.#knownSeq = tailSeq;
    this.#knownSeq = Math.max(this.#knownSeq, tailSeq);
    if (!this.#catchingUp) void this.#catchUp();
  }

  /** The stream is another one: its sequences have begun anew. */
  restart(): void {
    this.#seenSeq = 0;
    this.#knownSeq = 0;
    this.#held = [];
  }

  close(): void {
    this.#closed = true;
    this.#subscription.unsubscribe();
  }

  async #begin(): Promise<void> {
    // The answer comes after the server has taken the subscription.
    const tail = await this.#deps.reader.tail(this.#subjects.log);
    this.#seenSeq ??= tail?.seq ?? 0;
  }

  #hear(message: Msg): void {
    this.#heardSinceCheck = true;
    try {
      if (message.subject.endsWith(LIVE_EVENTS)) this.#takeLive(message);
      else this.#tell(({ listener }) => listener.onAnnouncement(message.json<Announcement>())); // sent by announce alone
    } catch (error) {
      this.#deps.log.error({ err: error, ...this.key }, 'A live message can not be read; it is passed over.');
    }
  }

  #takeLive(raw: Msg): void {
    const seq = Number(raw.headers?.get('Nats-Sequence'));
    const previousSeq = Number(raw.headers?.get('Nats-Last-Sequence'));
    const message = readLogMessage(seq, raw.string());
    if (message === null || !Number.isSafeInteger(seq) || !Number.isSafeInteger(previousSeq)) {
      throw new Error('not a message of this log');
    }
    this.#take({ message, previousSeq });
  }

  #take(live: LiveMessage): void {
    this.#seenSeq ??= live.previousSeq;
    if (!this.#catchingUp && this.#tellIfNext(live)) return;
    if (this.#held.length >= MAX_HELD) this.#held = [];
    this.#held.push(live);
    if (!this.#catchingUp) void this.#catchUp();
  }

  /** False: the stream has to be read first, up to a sequence that is known from now on. */
  #tellIfNext({ message, previousSeq }: LiveMessage): boolean {
    const seenSeq = this.#seenSeq ?? 0;
    if (message.seq <= seenSeq) return true;
    const isNext = previousSeq <= seenSeq;
    const isWhole = !message.events.some(isLarge);
    if (isNext && isWhole)
      this.#deliver(message.seq, message.events as readonly SessionEvent[]); // none is large
    else this.#knownSeq = Math.max(this.#knownSeq, isWhole ? previousSeq : message.seq);
    return isNext && isWhole;
  }

  async #catchUp(): Promise<void> {
    const { clock, log } = this.#deps;
    this.#catchingUp = true;
    while (!this.#closed && this.#knownSeq > (this.#seenSeq ?? 0)) {
      try {
        await this.#readKnown((this.#seenSeq ?? 0) + 1, this.#knownSeq);
        this.#tellHeld();
      } catch (error) {
        log.debug({ err: error, ...this.key }, 'Missed events could not be read; trying again.');
        await clock.sleep(RETRY_MS);
      }
    }
    this.#catchingUp = false;
  }

  async #readKnown(from: number, to: number): Promise<void> {
    const { reader, largeEvents } = this.#deps;
    for await (const { seq, events } of reader.read(this.#subjects.log, from, to)) {
      const whole = await largeEvents.complete(this.#subjects.large, events);
      if (this.#closed) return;
      this.#deliver(seq, whole);
    }
    this.#seenSeq = Math.max(this.#seenSeq ?? 0, to); // what was not there was dropped for its age
  }

  /** Goes on with what came meanwhile, as far as it is whole. */
  #tellHeld(): void {
    const rest = this.#held.findIndex((live) => !this.#tellIfNext(live));
    this.#held.splice(0, rest === -1 ? this.#held.length : rest);
  }

  #deliver(seq: number, events: readonly SessionEvent[]): void {
    this.#seenSeq = seq;
    const fresh = events.filter(({ id }) => id > this.#lastId);
    const last = fresh.at(-1);
    if (last === undefined) return;
    this.#lastId = last.id;
    this.#tell(({ listener }) => listener.onEvents(fresh));
  }

  /** One listener that throws does not disturb the others. */
  #tell(call: (watcher: Watcher) => void): void {
    for (const watcher of this.watchers) {
      try {
        call(watcher);
      } catch (error) {
        this.#deps.log.error({ err: error, ...this.key }, 'A listener of a session threw.');
      }
    }
  }
}
