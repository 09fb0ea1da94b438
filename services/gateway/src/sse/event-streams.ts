import type { ServerResponse } from 'node:http';
import { unavailable } from '@turnwire/shared/domain/errors';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { Subscription } from '@turnwire/shared/ports/event-bus';
import type { GatewayDeps } from '../gateway-deps.ts';
import { catchUp, type KnownEnd } from './catch-up.ts';
import { ClientStream, type StreamView } from './client-stream.ts';
import { GREETING, SSE_HEADERS } from './frame.ts';
import { Heartbeat } from './heartbeat.ts';
import { ReadingQueue } from './reading-queue.ts';
import { type HubHost, type Place, SessionHub } from './session-hub.ts';

interface Entry {
  readonly hub: SessionHub;
  readonly subscription: Promise<Subscription>;
}

/** A reserved place on a session's stream: no event is missed from here on. Either `open` or `leave` it. */
export interface Seat {
  open(response: ServerResponse, options: OpenOptions): void;
  leave(): void;
}

export interface OpenOptions {
  readonly view: StreamView;
  readonly headers: Readonly<Record<string, string>>;
  /** Frames to begin with. */
  readonly preface: string;
  readonly known: KnownEnd;
}

export const NOTHING_KNOWN: KnownEnd = { tail: null, turnIsOver: false };

type StreamDeps = Pick<GatewayDeps, 'bus' | 'clock' | 'log' | 'metrics'>;

/** All event streams of this gateway, by session. A session that nobody watches costs nothing. */
export class EventStreams implements HubHost {
  readonly #deps: StreamDeps;
  readonly #heartbeat: Heartbeat;
  readonly #readers = new ReadingQueue();
  readonly #entries = new Map<string, Entry>();
  readonly #followers = new Set<ClientStream>();
  #onTurnsEnded: () => void = () => {};
  #closed = false;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
    this.#heartbeat = new Heartbeat(deps.clock);
  }

  /** Resolves when every later event is kept for the seat. Throws `unavailable`. */
  async join(key: SessionKey): Promise<Seat> {
    if (this.#closed) throw unavailable('The server', new Error('it is shutting down'));
    const { hub, subscription } = this.#entryOf(key);
    const place = hub.join();
    try {
      await subscription;
    } catch (error) {
      hub.leave(place);
      throw error;
    }
    return {
      leave: () => hub.leave(place),
      open: (response, options) => this.#open(hub, place, response, options),
    };
  }

  /** Resolves when no client follows a turn any more. */
  turnsEnded(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTurnsEnded = () => this.#followers.size === 0 && resolve();
      this.#onTurnsEnded();
    });
  }

  /** Ends all streams: their clients reconnect, to another gateway or later, with the last id that they have. */
  close(): void {
    this.#closed = true;
    this.#heartbeat.stop();
    for (const { hub } of this.#entries.values()) hub.endAll();
  }

  now(): number {
    return this.#deps.clock.now();
  }

  closed(client: ClientStream): void {
    this.#heartbeat.remove(client);
    this.#followers.delete(client);
    this.#onTurnsEnded();
    this.#deps.metrics.sseClients(-1);
  }

  dropped(): void {
    this.#deps.metrics.sseDropped();
  }

  emptied(hub: SessionHub): void {
    const name = nameOf(hub.key);
    const entry = this.#entries.get(name);
    if (entry?.hub !== hub) return;
    // Out of the map first: whoever joins from here on makes a new hub.
    this.#entries.delete(name);
    entry.subscription.then(
      (subscription) => subscription.close(),
      () => {}, // told to those who joined
    );
  }

  #entryOf(key: SessionKey): Entry {
    const name = nameOf(key);
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const hub = new SessionHub(key, this);
    const entry: Entry = { hub, subscription: this.#deps.bus.subscribe(key, hub) };
    this.#entries.set(name, entry);
    return entry;
  }

  #open(hub: SessionHub, place: Place, response: ServerResponse, options: OpenOptions): void {
    const { view, headers, preface, known } = options;
    const client = new ClientStream(response, view, hub);
    this.#deps.metrics.sseClients(1);
    this.#heartbeat.add(client);
    if (view.endsWithTurn) this.#followers.add(client);
    response.writeHead(200, { ...SSE_HEADERS, ...headers });
    response.write(GREETING + preface);
    client.start();
    hub.seat(place, client);
    if (this.#closed) client.end();
    if (view.fresh && hub.goLive(place, client)) return;
    const { bus, clock, log } = this.#deps;
    const replay = (after: number) => bus.replay(hub.key, after);
    const admission = () => this.#readers.admission();
    catchUp({ hub, place, client, known, replay, admission, pause: () => clock.sleep(10) })
      .catch((error: unknown) => {
        log.warn({ ...hub.key, err: error }, 'An event stream was broken off: the log could not be read.');
        client.abort();
      })
      .finally(() => hub.leave(place));
  }
}

function nameOf({ tenantId, sessionId }: SessionKey): string {
  return `${tenantId}\n${sessionId}`;
}
