import { setTimeout as sleep } from 'node:timers/promises';
import type { EventStream, StreamEvent } from './event-stream.ts';
import { eventually } from './eventually.ts';

/** Opens the session's stream after this event. */
type Open = (lastEventId: number) => Promise<EventStream>;

/**
 * A client as a browser's `EventSource` is one: follows a session from its first event on, and when the connection
 * ends, for whatever reason, comes back with `Last-Event-ID`, until it is closed.
 */
export class Follower {
  readonly sessionId: string;
  /** The durable events in the order in which they came, over all connections. */
  readonly events: StreamEvent[] = [];
  /** What was said without an id, such as `gap`. */
  readonly announcements: StreamEvent[] = [];
  connections = 0;
  readonly #open: Open;
  #stream: EventStream | null = null;
  #closed = false;

  constructor(sessionId: string, open: Open) {
    this.sessionId = sessionId;
    this.#open = open;
    void this.#follow();
  }

  get lastEventId(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  of(type: string, turnId?: string): readonly StreamEvent[] {
    return this.events.filter((event) => event.type === type && (turnId ?? event.data.turnId) === event.data.turnId);
  }

  /** Resolves with the first event, or the `nth`, that matches. */
  until(match: (event: StreamEvent) => boolean, nth = 1, timeoutMs = 30_000): Promise<StreamEvent> {
    return eventually(() => {
      const found = this.events.filter(match)[nth - 1];
      if (found !== undefined) return found;
      throw new Error(`${this.sessionId}: no ${match} among ${this.events.map(({ type }) => type).join(', ')}`);
    }, timeoutMs);
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      try {
        this.#stream = await this.#open(this.lastEventId);
        this.connections += 1;
        for await (const event of this.#stream) (event.id === null ? this.announcements : this.events).push(event);
      } catch {
        // The server is away; it is tried again.
      }
      await sleep(20);
    }
  }
}
