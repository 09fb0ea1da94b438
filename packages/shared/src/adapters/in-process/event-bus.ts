import { isAppError, leaseLost, unavailable } from '../../domain/errors.ts';
import type { Announcement, SessionEvent } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventBus, EventListener, EventWriter, Subscription } from '../../ports/event-bus.ts';
import type { EventLog } from '../../ports/event-log.ts';
import type { Logger } from '../../ports/logger.ts';
import type { EventChannel, Watcher } from './event-channel.ts';
import { EventChannels } from './event-channels.ts';
import { createEventWriter } from './event-writer.ts';
import { GroupCommit } from './group-commit.ts';

const EVENTS_PER_PAGE = 500;
const PROBE: SessionKey = { tenantId: '', sessionId: '' };

export interface InProcessBusOptions {
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The bus of the embedded profile. An event is with the session's subscribers when `append` returns, and in the log some
 * tens of milliseconds later, together with those of all other sessions. What a dying process had not written yet is
 * lost, as the contract allows: a step's message is stored after a `flush` alone.
 */
export function createInProcessBus(options: InProcessBusOptions): EventBus {
  return new InProcessBus(options);
}

class InProcessBus implements EventBus {
  readonly kind = 'in-process';
  readonly #log: EventLog;
  readonly #channels: EventChannels;
  readonly #commit: GroupCommit;

  constructor(options: InProcessBusOptions) {
    this.#log = options.log;
    this.#channels = new EventChannels(options.logger);
    this.#commit = new GroupCommit({ ...options, channels: this.#channels });
  }

  async openWriter(key: SessionKey, token: number): Promise<EventWriter> {
    this.#assertOpen();
    // What an older holder has shown is logged first, so that the new one's begins behind it.
    if ((this.#channels.find(key)?.pending.length ?? 0) > 0) this.#commit.write();
    const loggedId = this.#ask((log) => log.lastId(key));
    const channel = this.#channels.open(key);
    const writer = Symbol(token);
    const admitted = channel.admit(writer, token, loggedId);
    this.#channels.release(channel);
    if (!admitted) throw leaseLost(key.sessionId, token);
    return createEventWriter({ channel, channels: this.#channels, commit: this.#commit, writer, token });
  }

  async subscribe(key: SessionKey, listener: EventListener): Promise<Subscription> {
    this.#assertOpen();
    return this.#watch(key, ({ eventWatchers }) => eventWatchers, listener);
  }

  async *replay(key: SessionKey, after: number): AsyncIterable<readonly SessionEvent[]> {
    for (let cursor = after; ; ) {
      this.#assertOpen();
      const logged = this.#ask((log) => log.read(key, cursor, EVENTS_PER_PAGE));
      const isWhole = logged.length < EVENTS_PER_PAGE;
      const pending = isWhole ? (this.#channels.find(key)?.pending ?? []) : [];
      const page = [...logged, ...pending.filter(({ id }) => id > cursor)];
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      if (isWhole) return;
      cursor = last.id;
    }
  }

  announce(key: SessionKey, announcement: Announcement): void {
    const channel = this.#channels.find(key);
    channel?.tell(channel.eventWatchers, (listener) => listener.onAnnouncement(announcement));
  }

  nudge(key: SessionKey): void {
    const channel = this.#channels.find(key);
    channel?.tell(channel.nudgeWatchers, (listener) => listener());
  }

  onNudge(key: SessionKey, listener: () => void): Subscription {
    return this.#watch(key, ({ nudgeWatchers }) => nudgeWatchers, listener);
  }

  async delete(key: SessionKey): Promise<void> {
    this.#ask((log) => log.delete(key));
    const channel = this.#channels.find(key);
    if (channel === undefined) return;
    channel.clear();
    this.#channels.release(channel);
  }

  async prune(before: number, limit: number): Promise<number> {
    return this.#ask((log) => log.prune(before, limit));
  }

  async ping(): Promise<void> {
    this.#assertOpen();
    this.#commit.write();
    this.#ask((log) => log.lastId(PROBE));
  }

  async close(): Promise<void> {
    this.#commit.close();
  }

  #watch<L>(key: SessionKey, watchersOf: (channel: EventChannel) => Set<Watcher<L>>, listener: L): Subscription {
    const channel = this.#channels.open(key);
    const watcher: Watcher<L> = { listener };
    watchersOf(channel).add(watcher);
    return {
      close: () => {
        watchersOf(channel).delete(watcher);
        this.#channels.release(channel);
      },
    };
  }

  #ask<T>(question: (log: EventLog) => T): T {
    this.#assertOpen();
    try {
      return question(this.#log);
    } catch (error) {
      throw isAppError(error) ? error : unavailable('The event log', error);
    }
  }

  #assertOpen(): void {
    if (this.#commit.closed) throw unavailable('The event bus', new Error('the bus is closed'));
  }
}
