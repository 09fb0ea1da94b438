import { type NumberedEvent, type SessionEvent, tokenOf } from '../../domain/event.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { EventListener } from '../../ports/event-bus.ts';
import type { Logger } from '../../ports/logger.ts';

/** A listener's place: the same listener may have two. */
export interface Watcher<L> {
  readonly listener: L;
}

/** One session while somebody writes or watches it, or while events of it are on their way to the log. */
export class EventChannel {
  readonly key: SessionKey;
  readonly eventWatchers = new Set<Watcher<EventListener>>();
  readonly nudgeWatchers = new Set<Watcher<() => void>>();
  readonly #logger: Logger;
  /** Taken and shown, but not in the log yet. */
  #pending: SessionEvent[] = [];
  /** Id of the last event that was taken. */
  #tailId = 0;
  #loggedId = 0;
  /** The newest token that opened or wrote. */
  #token = 0;
  /** Stands for the one writer that may write; null: none is open. */
  #writer: symbol | null = null;

  constructor(key: SessionKey, logger: Logger) {
    this.key = key;
    this.#logger = logger;
  }

  get pending(): readonly SessionEvent[] {
    return this.#pending;
  }

  get loggedId(): number {
    return this.#loggedId;
  }

  get isIdle(): boolean {
    const isWatched = this.eventWatchers.size > 0 || this.nudgeWatchers.size > 0;
    return !isWatched && this.#writer === null && this.#pending.length === 0;
  }

  /** Makes this writer the one that may write, unless a newer token opened or wrote. `loggedId`: the end of the log. */
  admit(writer: symbol, token: number, loggedId: number): boolean {
    this.#loggedId = Math.max(this.#loggedId, loggedId);
    this.#tailId = Math.max(this.#tailId, loggedId);
    this.#token = Math.max(this.#token, tokenOf(this.#tailId));
    if (token < this.#token) return false;
    this.#token = token;
    this.#writer = writer;
    return true;
  }

  isWriter(writer: symbol): boolean {
    return this.#writer === writer;
  }

  leave(writer: symbol): void {
    if (this.#writer === writer) this.#writer = null;
  }

  /** Gives the events their places and shows them. Those that are known are skipped. */
  take(events: readonly NumberedEvent[]): void {
    const fresh: SessionEvent[] = [];
    for (const event of events) {
      if (event.id <= this.#tailId) continue;
      const placed = { ...event, prev: this.#tailId };
      fresh.push(placed);
      this.#pending.push(placed);
      this.#tailId = event.id;
    }
    if (fresh.length > 0) this.tell(this.eventWatchers, (listener) => listener.onEvents(fresh));
  }

  /** The log has all that was pending. */
  confirm(): void {
    this.#loggedId = this.#tailId;
    this.#pending = [];
  }

  /** The log was removed: nothing is on its way to it, and nobody may write. */
  clear(): void {
    this.#pending = [];
    this.#tailId = 0;
    this.#loggedId = 0;
    this.#writer = null;
  }

  /** One listener that throws does not disturb the others. */
  tell<L>(watchers: Iterable<Watcher<L>>, call: (listener: L) => void): void {
    for (const { listener } of watchers) {
      try {
        call(listener);
      } catch (error) {
        this.#logger.error({ err: error, ...this.key }, 'A listener of a session threw.');
      }
    }
  }
}
