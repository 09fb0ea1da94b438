import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from './chat-request.ts';
import type { Reply } from './reply.ts';

export type ModelCall = {
  readonly body: ChatRequest;
  readonly headers: IncomingHttpHeaders;
  /** 1 for the first request that named this model on this server. */
  readonly attempt: number;
  /** Aborted when the client has left before the end. */
  readonly signal: AbortSignal;
};

/** Decides, chunk by chunk, how one request is answered. See `Reply` for what happens when it returns or throws. */
export type ModelHandler = (call: ModelCall, reply: Reply) => Promise<void> | void;
