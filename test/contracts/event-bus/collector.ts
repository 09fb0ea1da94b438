import type { Announcement, SessionEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventBus, EventListener, Subscription } from '@turnwire/shared/ports/event-bus';

/** A subscriber that keeps what it is told. */
export class Collector implements EventListener {
  readonly events: SessionEvent[] = [];
  readonly announcements: Announcement[] = [];

  get ids(): readonly number[] {
    return this.events.map(({ id }) => id);
  }

  onEvents(events: readonly SessionEvent[]): void {
    this.events.push(...events);
  }

  onAnnouncement(announcement: Announcement): void {
    this.announcements.push(announcement);
  }
}

export async function readAll(bus: EventBus, key: SessionKey, after = 0): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const page of bus.replay(key, after)) events.push(...page);
  return events;
}

/** Reads as a gateway does for its client: subscribes first, replays from the cursor, and merges by id. */
export class MergingReader {
  readonly #live = new Collector();
  readonly #replayed: SessionEvent[] = [];
  readonly #cursor: number;
  #subscription: Subscription | null = null;

  constructor(cursor: number) {
    this.#cursor = cursor;
  }

  async start(bus: EventBus, key: SessionKey): Promise<void> {
    this.#subscription = await bus.subscribe(key, this.#live);
    for await (const page of bus.replay(key, this.#cursor)) this.#replayed.push(...page);
  }

  stop(): void {
    this.#subscription?.close();
  }

  /** What the client has got, in the order in which it came. */
  get events(): readonly SessionEvent[] {
    const last = this.#replayed.at(-1)?.id ?? this.#cursor;
    return [...this.#replayed, ...this.#live.events.filter(({ id }) => id > last)];
  }
}
