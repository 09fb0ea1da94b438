import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDeps } from '../gateway-deps.ts';

export type AccessLog = (request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Names a request to its caller (`X-Request-Id`) and, when its answer is over, to the log: a line at debug level, which for
 * an event stream comes at the stream's end. The route is a pattern: paths, queries and bodies are nobody's business.
 */
export function createAccessLog({ clock, log }: Pick<GatewayDeps, 'clock' | 'log'>): AccessLog {
  return ({ id: requestId, method, routeOptions }, reply) => {
    reply.header('x-request-id', requestId);
    const route = routeOptions.url ?? null;
    const startedAt = clock.now();
    // Not Fastify's hook `onResponse`, which leaves out whatever the client broke off: that is how most streams end.
    // Nor its request and reply, which thousands of open streams would then hold.
    const response = reply.raw;
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : null;
      log.debug({ requestId, method, route, status, durationMs: clock.now() - startedAt }, 'a request was answered');
    });
  };
}
