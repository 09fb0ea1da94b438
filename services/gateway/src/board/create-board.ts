import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBullBoard } from '@bull-board/api';
import { FastifyAdapter } from '@bull-board/fastify';
import { JOB_KINDS, type JobQueue } from '@turnwire/shared/ports/job-queue';
import type { Logger } from '@turnwire/shared/ports/logger';
import Fastify from 'fastify';
import { handleProblems } from '../plugins/problem-handler.ts';
import { adaptPage } from './adapt-page.ts';
import { BOARD_PATH } from './board-path.ts';
import { BoardQueue } from './board-queue.ts';

export interface Board {
  /** Answers a request of an admin of this tenant. */
  answer(tenantId: string, request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
}

/** What changes something, of all that the board knows to do: the rest the queue cannot, or must not do by hand. */
const CHANGES = new Set(['/api/queues/:queueName/:jobId/retry', '/api/queues/:queueName/retry/:queueStatus']);

/** bull-board over the port, whatever queue is behind it. */
export async function createBoard(queue: JobQueue, log: Logger): Promise<Board> {
  const tenant = new AsyncLocalStorage<string>();
  const tenantId = () => tenant.getStore() ?? '';
  const serverAdapter = new FastifyAdapter();
  createBullBoard({
    queues: JOB_KINDS.map((kind) => new BoardQueue(queue, kind, tenantId)),
    serverAdapter,
    options: {
      uiConfig: { boardTitle: 'Turnwire', hideDocsLink: true, hideRedisDetails: true, showWorkers: false },
      handlerHooks: {
        before: ({ method, route }) =>
          method === 'get' || CHANGES.has(route) ? undefined : { allow: false, status: 405 },
      },
    },
  });
  const board = Fastify();
  handleProblems(board, log);
  board.addHook('onSend', async (_request, reply, payload) => {
    const isPage = typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html');
    return isPage ? adaptPage(payload) : payload;
  });
  await board.register(serverAdapter.registerPlugin(), { prefix: BOARD_PATH });
  await board.ready();
  return {
    answer: (id, request, response) => tenant.run(id, () => board.routing(request, response)),
    close: () => board.close(),
  };
}
