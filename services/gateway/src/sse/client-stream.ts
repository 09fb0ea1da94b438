import type { Writable } from 'node:stream';
import type { Announcement } from '@turnwire/shared/domain/event';
import { announcementFrame, type Frame, gapFrame, HEARTBEAT } from './frame.ts';

/** Unread bytes (of this process, not of the kernel) past which a live client is dropped. */
const MAX_BACKLOG = 1024 * 1024;

/** Heartbeats in a row that find the client behind, with never a moment in which it had taken all, before it is dropped: a minute. */
const MAX_STALLED_BEATS = 12;

export interface StreamView {
  /** Only this turn's events; null: all of the session. */
  readonly turnId: string | null;
  /** Whether the stream is over with the turn's terminal or `interrupt` event. */
  readonly endsWithTurn: boolean;
  /** What the client is to see has a greater id. */
  readonly cursor: number;
  /** Whether all of that comes after the moment of joining, so that the log need not be read. */
  readonly fresh: boolean;
}

/** What client streams need of their surroundings. One object serves all clients of a session. */
export interface StreamHost {
  now(): number;
  /** The response was closed, by whichever side. Called once per client. */
  closed(client: ClientStream): void;
  /** A client is closed because it reads too slowly. */
  dropped(): void;
}

/**
 * One client's response: what it has seen, what it is to see, and how it ends. Writes in order, never waits, and holds
 * no more than its bound; whoever reads the log for it waits for {@link drained}.
 */
export class ClientStream {
  readonly #response: Writable;
  readonly #view: StreamView;
  readonly #host: StreamHost;
  /** Id of the last event, seen or passed over; null before the first one of a fresh stream. */
  #cursor: number | null;
  #gapSaid = false;
  #stalledBeats = 0;

  constructor(response: Writable, view: StreamView, host: StreamHost) {
    this.#response = response;
    this.#view = view;
    this.#host = host;
    this.#cursor = view.fresh ? null : view.cursor;
  }

  /** Begins to watch the response. It may be closed already. */
  start(): void {
    const closed = () => this.#host.closed(this);
    if (this.#response.destroyed) closed();
    else this.#response.once('close', closed);
  }

  get view(): StreamView {
    return this.#view;
  }

  get cursor(): number {
    return this.#cursor ?? this.#view.cursor;
  }

  get gapSaid(): boolean {
    return this.#gapSaid;
  }

  get ended(): boolean {
    return this.#response.writableEnded || this.#response.destroyed;
  }

  /** A live event. Drops the client when it has left too much unread. */
  deliver(frame: Frame): void {
    if (this.#response.writableLength > MAX_BACKLOG) this.#drop();
    else this.take(frame);
  }

  /** The next event, live or from the log. One that the client has is skipped. */
  take(frame: Frame): void {
    if (this.ended || frame.id <= this.cursor) return;
    if (this.#cursor !== null && frame.prev > this.#cursor) this.sayGap(frame.prev);
    this.#cursor = frame.id;
    if (this.#view.turnId !== null && this.#view.turnId !== frame.turnId) return;
    this.#write(frame.text);
    if (this.#view.endsWithTurn && frame.endsTurn) this.end();
  }

  /** Events after the cursor, up to `to`, can't be had any more. */
  sayGap(to: number): void {
    this.#gapSaid = true;
    this.#write(gapFrame({ turnId: this.#view.turnId, ts: this.#host.now(), from: this.cursor, to }));
    this.#cursor = to;
  }

  /** A turn's own stream says by itself where the turn stands in line; others hear it from the bus. */
  announce(announcement: Announcement): void {
    const { turnId, endsWithTurn } = this.#view;
    if (endsWithTurn || (turnId !== null && turnId !== announcement.turnId)) return;
    this.#write(announcementFrame(announcement));
  }

  /** Tells what no event of the log tells, if it is about this client's turn, and ends. */
  endWith(announcement: Announcement): void {
    const turnId = this.#view.turnId ?? announcement.turnId;
    if (turnId !== null) this.#write(announcementFrame({ ...announcement, turnId }));
    this.end();
  }

  /** Whether a reader of the log has to wait for {@link drained}. */
  get full(): boolean {
    return this.#response.writableNeedDrain && !this.ended;
  }

  /** Resolves when a full client may be written to again, or is gone. */
  drained(): Promise<void> {
    const response = this.#response;
    return new Promise<void>((resolve) => {
      const done = () => {
        this.#stalledBeats = 0;
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });
  }

  /** Keeps the connection open, or drops it when the client has been behind for long, also where the last bytes do not get out. */
  beat(): void {
    if (!this.full && !this.#response.writableEnded) {
      this.#stalledBeats = 0;
      this.#write(HEARTBEAT);
      return;
    }
    this.#stalledBeats += 1;
    if (this.#stalledBeats > MAX_STALLED_BEATS) this.#drop();
  }

  /** Breaks the connection off, so that the client knows that there is more. */
  abort(): void {
    this.#response.destroy();
  }

  end(): void {
    if (!this.ended) this.#response.end();
  }

  #drop(): void {
    if (this.#response.destroyed) return;
    this.#host.dropped();
    this.#response.destroy();
  }

  #write(text: string): void {
    if (!this.ended) this.#response.write(text);
  }
}
