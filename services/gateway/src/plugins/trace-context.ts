import type { FastifyRequest } from 'fastify';

/** Version 00 of W3C Trace Context (https://www.w3.org/TR/trace-context/): trace, parent, flags; no id is all zeros. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The caller's `traceparent`; undefined without one, or with one that has to be ignored. */
export function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}
