import type { GuardedFetch } from '../guarded-fetch.ts';
import { ToolError } from '../tool-error.ts';

/** As much as the SDK takes of one message over stdio. */
const MAX_BYTES = 10_000_000;

/** Bounds the answer to a message: the SDK reads it as a whole. A GET is the stream of notifications, which has no end. */
export function boundedFetch(fetch: GuardedFetch['fetch'], maxBytes = MAX_BYTES): GuardedFetch['fetch'] {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method !== 'POST' || response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(atMost(maxBytes)), { status, statusText, headers });
  };
}

function atMost(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new ToolError(`The MCP server answered with more than ${maxBytes} bytes.`);
      controller.enqueue(chunk);
    },
  });
}
