import type { Announcement, SessionEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventListener } from '@turnwire/shared/ports/event-bus';
import type { ClientStream, StreamHost } from './client-stream.ts';
import { Frame } from './frame.ts';
import { RecentFrames } from './recent-frames.ts';

/** A client that joined and is not live yet. */
export interface Place {
  /** Id of the newest event before it joined, as far as the hub knows. */
  readonly joinedAfter: number;
  /** Null as long as its response has not begun. */
  client: ClientStream | null;
}

export interface HubHost extends StreamHost {
  /** The hub's last client left. */
  emptied(hub: SessionHub): void;
}

/**
 * What one gateway hears of one session, for all of its clients here: one subscription, each event written as text
 * once. A client that can't go live yet holds a place, and while there are places, recent events are kept for them.
 */
export class SessionHub implements EventListener, StreamHost {
  readonly key: SessionKey;
  readonly #host: HubHost;
  readonly #live = new Set<ClientStream>();
  readonly #places = new Set<Place>();
  readonly #recent = new RecentFrames();
  #deletion: Announcement | null = null;

  constructor(key: SessionKey, host: HubHost) {
    this.key = key;
    this.#host = host;
  }

  /** From now on, events are kept for the caller until it goes live or leaves. */
  join(): Place {
    const place: Place = { joinedAfter: this.#recent.newestId, client: null };
    this.#places.add(place);
    return place;
  }

  /** Lets a client take its place. Where the session was deleted meanwhile, this ends it. */
  seat(place: Place, client: ClientStream): void {
    place.client = client;
    if (this.#deletion !== null) client.endWith(this.#deletion);
  }

  /**
   * Gives the client at this place the kept events that it has not seen, and all live ones from now on. False, and
   * nothing done, when not all of them were kept.
   */
  goLive(place: Place, client: ClientStream): boolean {
    const from = client.view.fresh ? Math.max(client.cursor, place.joinedAfter) : client.cursor;
    if (this.#recent.droppedId > from) return false;
    for (const frame of this.#recent.after(from)) client.take(frame);
    if (!client.ended) this.#live.add(client);
    this.leave(place);
    return true;
  }

  leave(place: Place): void {
    this.#places.delete(place);
    if (this.#places.size === 0) this.#recent.clear();
    this.#checkEmpty();
  }

  /** Id of the newest event that came and was not kept. */
  get droppedId(): number {
    return this.#recent.droppedId;
  }

  onEvents(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const frame = new Frame(event);
      if (this.#places.size > 0) this.#recent.keep(frame);
      else this.#recent.pass(frame);
      for (const client of this.#live) client.deliver(frame);
    }
  }

  onAnnouncement(announcement: Announcement): void {
    if (announcement.type === 'cancelled') {
      this.#deletion = announcement;
      for (const client of this.#clients()) client.endWith(announcement);
    } else {
      for (const client of this.#live) client.announce(announcement);
    }
  }

  endAll(): void {
    for (const client of this.#clients()) client.end();
  }

  now(): number {
    return this.#host.now();
  }

  closed(client: ClientStream): void {
    this.#live.delete(client);
    this.#host.closed(client);
    this.#checkEmpty();
  }

  dropped(): void {
    this.#host.dropped();
  }

  #clients(): readonly ClientStream[] {
    const waiting = [...this.#places].flatMap(({ client }) => (client === null ? [] : [client]));
    return [...this.#live, ...waiting];
  }

  #checkEmpty(): void {
    if (this.#live.size === 0 && this.#places.size === 0) this.#host.emptied(this);
  }
}
