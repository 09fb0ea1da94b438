import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequest } from './recording.ts';
import { ClientGone } from './reply.ts';

const SENT = Promise.resolve();

/** A handler that does not await an operation must not bring the process down by an unhandled rejection. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

/** Writes one response, keeps its record up to date and says when the client has left. */
export class ResponseWriter {
  readonly #response: ServerResponse;
  readonly #record: RecordedRequest;
  readonly #changed: () => void;
  readonly #gone = new AbortController();
  #ended = false;
  #bytewise = false;

  constructor(response: ServerResponse, record: RecordedRequest, changed: () => void) {
    this.#response = response;
    this.#record = record;
    this.#changed = changed;
    response.on('close', () => this.#onClose());
    // A reset while writing is the client's leaving, which 'close' reports.
    response.on('error', () => undefined);
  }

  /** Aborted when the client has left before the end. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get ended(): boolean {
    return this.#ended;
  }

  bytewise(): void {
    this.#bytewise = true;
  }

  /** Sends the head; `false` if it is out already or nobody is there to get it. */
  head(status: number, headers: OutgoingHttpHeaders): boolean {
    if (this.#response.headersSent || this.#ended || this.signal.aborted) return false;
    this.#response.writeHead(status, headers);
    this.#record.status = status;
    return true;
  }

  /** Rejects with `ClientGone` when the client has left. */
  write(bytes: string | Uint8Array): Promise<void> {
    if (this.#bytewise) return this.writeBytewise(bytes);
    if (this.signal.aborted) return handled(Promise.reject(new ClientGone()));
    if (this.#ended) return SENT;
    this.#count(bytes);
    return this.#response.write(bytes) ? SENT : handled(this.#drained());
  }

  /** The same, each byte as a write of its own; the event loop turns in between, so that a reader gets them one by one. */
  writeBytewise(bytes: string | Uint8Array): Promise<void> {
    return handled(this.#writeEach(Buffer.from(bytes)));
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#response.end();
  }

  /** Destroys the socket; what still waits on this response gets `ClientGone`. */
  cut(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#settle('cut');
    this.#gone.abort();
    // What was written in this turn of the event loop is still corked; the client is to get it before the cut.
    setImmediate(() => this.#response.destroy());
  }

  /** Rejects with `ClientGone` when the client leaves meanwhile. */
  delay(ms: number): Promise<void> {
    if (this.#ended) return SENT;
    const { signal } = this;
    return handled(sleep(ms, undefined, { signal }).catch(() => Promise.reject(new ClientGone())));
  }

  /** Settles only when the client leaves, with `ClientGone`. */
  hang(): Promise<void> {
    if (this.#ended) return SENT;
    const { promise, reject } = Promise.withResolvers<void>();
    const leave = () => reject(new ClientGone());
    if (this.signal.aborted) leave();
    else this.signal.addEventListener('abort', leave, { once: true });
    return handled(promise);
  }

  async #writeEach(bytes: Uint8Array): Promise<void> {
    for (const byte of bytes) {
      if (this.signal.aborted) throw new ClientGone();
      if (this.#ended) return;
      const one = Uint8Array.of(byte);
      this.#count(one);
      await new Promise((resolve) => this.#response.write(one, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #count(bytes: string | Uint8Array): void {
    this.#record.bytesSent += Buffer.byteLength(bytes);
    this.#record.chunksSent += 1;
    if (this.#record.firstByteAt !== null) return;
    this.#record.firstByteAt = Date.now();
    this.#record.state = 'answering';
    this.#changed();
  }

  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = () => resolve();
    this.#response.once('drain', done);
    this.signal.addEventListener('abort', done, { once: true });
    await promise;
    this.#response.off('drain', done);
    this.signal.removeEventListener('abort', done);
    if (this.signal.aborted) throw new ClientGone();
  }

  #onClose(): void {
    if (this.#record.state === 'cut') return;
    if (this.#response.writableFinished) {
      this.#settle('finished');
      return;
    }
    this.#gone.abort();
    this.#settle('aborted');
  }

  #settle(state: 'finished' | 'aborted' | 'cut'): void {
    this.#record.state = state;
    if (state === 'aborted') this.#record.abortedAt = Date.now();
    else this.#record.finishedAt = Date.now();
    this.#changed();
  }
}
