import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { leaseLost, unavailable } from '../../domain/errors.ts';
import { type Announcement, type SessionEvent, tokenOf } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventBus, EventListener, EventWriter, Subscription } from '../../ports/event-bus.ts';
import type { Logger } from '../../ports/logger.ts';
import { NatsEventWriter } from './event-writer.ts';
import { findStart } from './find-start.ts';
import { LargeEvents } from './large-events.ts';
import { ANSWER_MS, type NatsLink, openLink } from './link.ts';
import { DELETED, isLarge } from './log-message.ts';
import { orUnavailable } from './nats-failure.ts';
import { Publisher } from './publisher.ts';
import { SessionFeeds } from './session-feeds.ts';
import { awaitStream, ensureStream, type StreamOptions } from './stream.ts';
import { StreamReader } from './stream-reader.ts';
import { type SessionSubjects, sessionSubjects } from './subjects.ts';

const EVENTS_PER_PAGE = 500;
const RECOVERY_RETRY_MS = 250;
const PROBE: SessionKey = { tenantId: '', sessionId: '' };

export interface NatsBusOptions {
  /** Address of a server or of several of a cluster, see {@link readServerAddress}. */
  readonly url: string;
  /** Name of the stream and first token of all subjects: letters, digits, `_` and `-`. Default `turnwire`. */
  readonly prefix?: string;
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The bus of the distributed profile: one JetStream stream that keeps the events and says them on to whoever subscribes.
 * Throws `unavailable` when no server answers, and an error that says more when its stream can't be used.
 */
export async function createNatsBus(options: NatsBusOptions): Promise<EventBus> {
  const { url, prefix = 'turnwire', retentionMs, clock, log } = options;
  if (!/^[\w-]+$/.test(prefix)) throw new Error(`"${prefix}" can't be the name of a NATS stream.`);
  const link = await openLink(url, clock, log);
  try {
    const jsm = await jetstreamManager(link.connection, { checkAPI: false, timeout: ANSWER_MS });
    const stream = { prefix, retentionMs };
    const madeAt = await awaitStream(jsm, stream, clock, log);
    return new NatsBus({ stream, link, jsm, clock, log, madeAt });
  } catch (error) {
    await link.close();
    throw error;
  }
}

interface NatsBusParts {
  readonly stream: StreamOptions;
  readonly link: NatsLink;
  readonly jsm: JetStreamManager;
  readonly clock: Clock;
  readonly log: Logger;
  /** When the stream was made: tells it from one that took its place. */
  readonly madeAt: string;
}

class NatsBus implements EventBus {
  readonly kind = 'nats';
  readonly #parts: NatsBusParts;
  readonly #prefix: string;
  readonly #link: NatsLink;
  readonly #reader: StreamReader;
  readonly #publisher: Publisher;
  readonly #largeEvents: LargeEvents;
  readonly #feeds: SessionFeeds;
  #madeAt: string;

  constructor(parts: NatsBusParts) {
    const { stream, link, jsm, clock, log } = parts;
    this.#parts = parts;
    this.#prefix = stream.prefix;
    this.#link = link;
    this.#madeAt = parts.madeAt;
    this.#reader = new StreamReader({ stream: stream.prefix, link, jsm, clock, log });
    this.#publisher = new Publisher(link, clock);
    this.#largeEvents = new LargeEvents(this.#publisher, this.#reader);
    const deps = { link, reader: this.#reader, largeEvents: this.#largeEvents, clock, log };
    this.#feeds = new SessionFeeds(stream.prefix, deps);
    link.listen({ onRestored: () => void this.#recover() });
  }

  async openWriter(key: SessionKey, token: number): Promise<EventWriter> {
    const subjects = this.#subjectsOf(key);
    const readTail = () => this.#reader.tail(subjects.log);
    const tail = await readTail();
    if (tail !== null && (tail.deleted || tokenOf(tail.lastId) > token)) throw leaseLost(key.sessionId, token);
    const { clock, log } = this.#parts;
    const [link, publisher, largeEvents] = [this.#link, this.#publisher, this.#largeEvents];
    return new NatsEventWriter({ key, token, subjects, tail, readTail, link, publisher, largeEvents, clock, log });
  }

  async subscribe(key: SessionKey, listener: EventListener): Promise<Subscription> {
    this.#link.assertUp();
    return this.#feeds.subscribe(key, listener);
  }

  async *replay(key: SessionKey, after: number): AsyncIterable<readonly SessionEvent[]> {
    const subjects = this.#subjectsOf(key);
    const tail = await this.#reader.tail(subjects.log);
    if (tail === null || tail.lastId <= after) return;
    const from = await findStart((seq) => this.#reader.next(subjects.log, seq), after, tail);
    let page: SessionEvent[] = [];
    for await (const { events } of this.#reader.read(subjects.log, from, tail.seq)) {
      const whole = await this.#largeEvents.complete(subjects.large, events);
      for (const event of whole) if (event.id > after) page.push(event);
      if (page.length < EVENTS_PER_PAGE && !events.some(isLarge)) continue;
      if (page.length > 0) yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  announce(key: SessionKey, announcement: Announcement): void {
    this.#link.send(this.#subjectsOf(key).announcement, JSON.stringify(announcement));
  }

  nudge(key: SessionKey): void {
    this.#link.send(this.#subjectsOf(key).nudge);
  }

  onNudge(key: SessionKey, listener: () => void): Subscription {
    if (this.#link.closed) return { close() {} };
    const subscription = this.#link.connection.subscribe(this.#subjectsOf(key).nudge, {
      callback: (error) => {
        if (error === null) this.#call(key, listener);
      },
    });
    return { close: () => subscription.unsubscribe() };
  }

  /** Leaves a mark that refuses whoever still writes; it goes with its age. */
  async delete(key: SessionKey): Promise<void> {
    const subjects = this.#subjectsOf(key);
    const tail = await this.#reader.tail(subjects.log);
    if (tail === null) return;
    const mark = tail.deleted ? tail.seq : await this.#markDeleted(subjects);
    const { streams } = this.#parts.jsm;
    await orUnavailable(streams.purge(this.#prefix, { filter: subjects.log, seq: mark }));
    await orUnavailable(streams.purge(this.#prefix, { filter: subjects.large }));
  }

  /** Nothing to do: the stream itself drops what is older than its `max_age`, which is the retention. */
  async prune(): Promise<number> {
    return 0;
  }

  async ping(): Promise<void> {
    await this.#reader.probe(this.#subjectsOf(PROBE).log);
  }

  async close(): Promise<void> {
    this.#feeds.close();
    await this.#link.close();
  }

  async #markDeleted(subjects: SessionSubjects): Promise<number> {
    const answer = await this.#publisher.publish(subjects.log, DELETED, null);
    if (answer.kind === 'stored') return answer.seq;
    throw unavailable('The event bus', new Error(`the deletion was not logged: ${answer.kind}`));
  }

  /** After a lost connection: what came meanwhile is told, from whatever stream there is now. */
  async #recover(): Promise<void> {
    const { jsm, stream, clock, log } = this.#parts;
    while (this.#link.isUp && !this.#link.closed) {
      try {
        const madeAt = await ensureStream(jsm, stream, log);
        if (madeAt !== this.#madeAt) this.#feeds.restart();
        this.#madeAt = madeAt;
        return await this.#feeds.checkAll();
      } catch (error) {
        log.warn({ err: error }, 'The NATS stream can not be used yet; trying again.');
        await clock.sleep(RECOVERY_RETRY_MS);
      }
    }
  }

  #call(key: SessionKey, listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#parts.log.error({ err: error, ...key }, 'A listener of a session threw.');
    }
  }

  #subjectsOf(key: SessionKey): SessionSubjects {
    return sessionSubjects(this.#prefix, key);
  }
}
