import type { OpenAI } from 'openai';
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import type { Clock } from '../../ports/clock.ts';

/** How long the rest of a body, after all that counts of it, may take until its connection is given up. */
const REST_MS = 1000;

/** The body of one streamed answer. Its socket is closed as soon as the signal aborts, also before the first byte. */
export class ResponseBody {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #unfollow: () => void;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(signal: AbortSignal, clock: Clock) {
    this.#clock = clock;
    // A turn's signal outlives its requests, so none of them leaves a listener behind.
    const abort = () => this.#abort.abort();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#unfollow = () => signal.removeEventListener('abort', abort);
  }

  /** Resolves when the answer's head is there. Throws the package's errors. */
  async open(client: OpenAI, params: ChatCompletionCreateParamsStreaming): Promise<void> {
    const response = await client.chat.completions.create(params, { signal: this.#abort.signal }).asResponse();
    this.#reader = response.body?.getReader() ?? null;
  }

  /** Null at the end. Throws when the connection breaks or was closed. */
  async read(): Promise<Uint8Array | null> {
    const result = await this.#reader?.read();
    return result?.value ?? null;
  }

  /** From now on, reading lasts no longer than this; later calls do not prolong it. */
  closeAfter(ms: number): void {
    this.#cancelTimer ??= this.#clock.after(ms, () => this.#abort.abort());
  }

  /** Closes the connection, or hands it back for the next request where only the end of the body is missing. */
  close(nearEnd: boolean): void {
    if (nearEnd && !this.#abort.signal.aborted) {
      this.closeAfter(REST_MS);
      void this.#readRest();
      return;
    }
    this.#abort.abort();
    this.#release();
  }

  async #readRest(): Promise<void> {
    try {
      while ((await this.read()) !== null);
    } catch {
      // Nothing that is still wanted is lost.
    }
    this.#release();
  }

  #release(): void {
    this.#cancelTimer?.();
    this.#unfollow();
  }
}
