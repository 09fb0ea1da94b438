import type { OutgoingHttpHeaders } from 'node:http';
import type { Usage } from './count-tokens.ts';

/**
 * A tool call or a piece of one. With a `name` it starts a new call: `index` counts up and `id` is generated unless
 * given (`index: null` leaves the key out, `id: ''` and `id: null` are sent as they are). Without a `name` it continues
 * the newest call, or the one at `index`. Arguments that are an object are sent as JSON.
 */
export type ToolCallPiece = {
  index?: number | null;
  id?: string | null;
  name?: string;
  arguments?: string | Readonly<Record<string, unknown>>;
};

export type Ending = {
  /** Default `tool_calls` if a call was sent, else `stop`. */
  finishReason?: string;
  /** Default a rough count; `null` sends none. A stream carries it only when `stream_options.include_usage` asked. */
  usage?: Usage | null;
};

/**
 * What a handler answers with. The same operations serve a stream (each is sent at once, in order) and a whole answer
 * (text, reasoning and calls are collected and sent by `end`).
 *
 * Await each one: it settles when the socket has room again. Once the client has left, every operation throws
 * `ClientGone`, which the server expects; a handler needs no check of its own. Operations after an end do nothing.
 * A handler that returns without an end gets `end()`; one that throws gets a 500, or a cut if bytes were out.
 */
export type Reply = {
  text(piece: string): Promise<void>;
  /** Sent as `reasoning_content`. */
  reasoning(piece: string): Promise<void>;
  toolCall(piece: ToolCallPiece): Promise<void>;
  /** Waits, in milliseconds. */
  delay(ms: number): Promise<void>;
  /** A stream sends this object as one event; a whole answer has it as its body. */
  chunk(object: unknown): Promise<void>;
  /** Bytes as they are, in one write. */
  raw(bytes: string | Uint8Array): Promise<void>;
  /** The same, one byte per write. */
  rawBytes(bytes: string | Uint8Array): Promise<void>;
  /** From now on everything is written one byte at a time. */
  bytewise(): void;
  /** Ends with another status; without a body an OpenAI-shaped error. Only before the first byte. */
  status(code: number, headers?: OutgoingHttpHeaders, body?: unknown): Promise<void>;
  /** Never answers (any more); settles, with `ClientGone`, when the client leaves. */
  hang(): Promise<void>;
  /** Destroys the socket. */
  cut(): void;
  /** Ends as the protocol says: finish reason, usage, `[DONE]`. */
  end(ending?: Ending): Promise<void>;
  /** Ends the response cleanly, with neither finish reason nor `[DONE]`. */
  fin(): Promise<void>;
};

export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}
