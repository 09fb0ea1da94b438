import type { RouteOptions } from 'fastify';
import type { App } from '../app-type.ts';
import type { GatewayDeps } from '../gateway-deps.ts';
import { BOARD_PATH } from './board-path.ts';
import type { Board } from './create-board.ts';

/**
 * The job board, for admins. It costs some megabytes and a moment to load, which few servers need: so it is a small
 * application of its own that is made when the first admin comes.
 */
export function serveBoard(app: App, { queue, log }: Pick<GatewayDeps, 'queue' | 'log'>): void {
  let board: Promise<Board> | undefined;
  const load = async () => (await import('./create-board.ts')).createBoard(queue, log);
  const route: Omit<RouteOptions, 'url'> = {
    // PUT: only to let a failed job wait again.
    method: ['GET', 'PUT'],
    config: { access: 'admin' },
    schema: { hide: true },
    // After the key was checked, and before a body is read, which is the board's business.
    async onRequest(request, reply) {
      board ??= load();
      const { answer } = await board;
      reply.hijack();
      reply.raw.setHeader('x-request-id', request.id);
      answer(request.principal.tenantId, request.raw, reply.raw);
    },
    // Lets browsers ask for the key.
    async onSend(_request, reply) {
      if (reply.statusCode === 401) reply.header('www-authenticate', 'Basic realm="turnwire", charset="UTF-8"');
    },
    handler: () => {},
  };
  for (const url of [BOARD_PATH, `${BOARD_PATH}/*`]) app.route({ ...route, url });
  app.addHook('onClose', async () => {
    if (board !== undefined) await (await board).close();
  });
}

/**
 * Browsers have no way to send a Bearer token when a page is opened: for the board alone the key may come as the
 * password of HTTP Basic, with any name. To be called before keys are looked at.
 */
export function acceptKeyAsPassword(app: App): void {
  app.addHook('onRequest', async ({ routeOptions, headers }) => {
    if (routeOptions.url?.startsWith(BOARD_PATH) !== true) return;
    const [, credentials] = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(headers.authorization ?? '') ?? [];
    if (credentials === undefined) return;
    const [, ...password] = Buffer.from(credentials, 'base64').toString().split(':');
    headers.authorization = `Bearer ${password.join(':')}`;
  });
}
