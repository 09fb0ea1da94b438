import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import type { GatewayDeps } from '../gateway-deps.ts';
import { ProtocolError, problemOf } from './problem.ts';

/**
 * Answers what Node's HTTP parser refuses: there is no request then, or none whose body will ever be whole, so the
 * problem document is written to the socket, which closes.
 */
export class ParserRefusals {
  readonly #deps: Pick<GatewayDeps, 'ids' | 'log'>;
  readonly #exchanges = new WeakMap<Socket, ServerResponse<IncomingMessage>>();

  constructor(deps: Pick<GatewayDeps, 'ids' | 'log'>) {
    this.#deps = deps;
  }

  /** To be told of every response that begins. */
  observe(response: ServerResponse<IncomingMessage>): void {
    this.#exchanges.set(response.req.socket, response);
  }

  refuse(error: ConnectionError, socket: Socket): void {
    // Nobody listens any more, or what came is the rest of something that was answered.
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const requestId = this.#deps.ids.next('req');
    const problem = problemOf(refusalOf(error));
    this.#deps.log.debug({ requestId, status: problem.status, reason: error.code }, 'what came is no request');
    // Whatever is written now would become a part of the answer that is under way.
    if (this.#isAnswering(socket)) socket.destroy();
    else socket.end(messageOf(problem.status, requestId, JSON.stringify(problem)), () => socket.destroy());
  }

  #isAnswering(socket: Socket): boolean {
    const response = this.#exchanges.get(socket);
    if (response === undefined || response.writableFinished) return false;
    return response.headersSent || response.req.complete;
  }
}

function refusalOf({ code, message }: ConnectionError): ProtocolError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ProtocolError(408, 'The request did not come in time.');
  if (code === 'HPE_HEADER_OVERFLOW') return new ProtocolError(431, 'The path and the headers are too large.');
  return new ProtocolError(400, `What came can't be read as HTTP/1.1 (${message}).`);
}

function messageOf(status: number, requestId: string, body: string): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
