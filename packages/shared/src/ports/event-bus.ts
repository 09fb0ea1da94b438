import type { Announcement, NumberedEvent, SessionEvent } from '../domain/event.ts';
import type { SessionKey } from '../domain/tenant.ts';

export interface EventListener {
  /** Durable events in the order of their ids, each once, none missing between the first one given and the last. */
  onEvents(events: readonly SessionEvent[]): void;
  onAnnouncement(announcement: Announcement): void;
}

export interface Subscription {
  close(): void;
}

/** Writes one session's events for the holder of one lease token. Not for two at once. */
export interface EventWriter {
  /** Id of the last event that is in the log; 0 if the log is empty. Starts at the log's tail. */
  readonly confirmedId: number;
  /**
   * Takes events in ascending order of ids; they reach the session's subscribers at once or soon, in order, and each
   * gets its `prev`. Ids that the log has already are skipped. Never waits and never throws; failures show in `flush`.
   */
  append(events: readonly NumberedEvent[]): void;
  /** Resolves when all that was appended is in the log. Throws `lease_lost` when a newer token has written, `unavailable` while the log cannot be reached (call again to go on). */
  flush(): Promise<void>;
  close(): void;
}

/**
 * The durable log of what clients see, one stream per session, and the live path from workers to gateways.
 *
 * Nothing of an older token is delivered or logged after a newer one's first event.
 */
export interface EventBus {
  /** What the bus is, for `/readyz` and the log, such as `in-process`. */
  readonly kind: string;
  /** Opens the log for a holder. Throws `lease_lost` when a newer token has written already. */
  openWriter(key: SessionKey, token: number): Promise<EventWriter>;
  /** Resolves when every later event will be given to the listener. Events before that: `replay`. */
  subscribe(key: SessionKey, listener: EventListener): Promise<Subscription>;
  /**
   * Logged events with an id greater than `after`, in order, in pages, up to the end of the log (events of which a
   * subscriber was told are in it). Read lazily: the reader's pace is the pace. Older ones may be gone: see `prev`. Throws `unavailable` while the log cannot be reached.
   */
  replay(key: SessionKey, after: number): AsyncIterable<readonly SessionEvent[]>;
  /** Tells current subscribers something that is not logged. Best effort. */
  announce(key: SessionKey, announcement: Announcement): void;
  /**
   * Tells whoever holds the session that the store has news for it (a cancel, an outbox entry, a deletion). Best
   * effort: the holder also looks with each heartbeat.
   */
  nudge(key: SessionKey): void;
  onNudge(key: SessionKey, listener: () => void): Subscription;
  /** Removes a session's log, for good: the id is not used again. */
  delete(key: SessionKey): Promise<void>;
  /**
   * Removes events older than `before` (ms since the epoch), at most `limit`. Returns how many; a bus whose server
   * ages its events by itself has nothing to do here.
   */
  prune(before: number, limit: number): Promise<number>;
  /** Throws `unavailable` if the bus does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
