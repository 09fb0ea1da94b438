import { AppError, unavailable } from '@turnwire/shared/domain/errors';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../app-type.ts';
import { type Problem, ProtocolError, problemOf } from './problem.ts';

/** Answers every error, whoever threw it, as a problem document. */
export function handleProblems(app: App, log: Logger): void {
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, log));
  app.setNotFoundHandler((request) => {
    throw new AppError('not_found', `There is no ${request.method} ${pathOf(request)}.`);
  });
}

export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): FastifyReply {
  const problem = problemOf(error, pathOf(request));
  if (problem.status >= 500) {
    log.error(
      { requestId: request.id, method: request.method, path: problem.instance, err: error },
      `${problem.title}.`,
    );
  }
  return reply
    .code(problem.status)
    .headers(headersOf(problem))
    .type('application/problem+json')
    .serializer((document: Problem) => JSON.stringify(document))
    .send(problem);
}

function headersOf({ code }: Problem): Record<string, string> {
  if (code === 'unauthorized') return { 'www-authenticate': 'Bearer realm="turnwire"' };
  return code === 'unavailable' || code === 'rate_limited' ? { 'retry-after': '1' } : {};
}

/** The path without its query, which may hold what is nobody's business. */
function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

/** As HTTP asks of a server (RFC 9112, 3.2). */
export function requireHost(app: App): void {
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host === undefined && raw.httpVersion !== '1.0') throw new ProtocolError(400, 'Give a "Host" header.');
  });
}

/** Refuses every request from the moment on that the server closes. */
export function refuseWhileClosing(app: App): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', async () => {
    if (closing) throw unavailable('The server', new Error('it is shutting down'));
  });
}
