import { sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { cancelSchema, turnSchema } from '@turnwire/shared/contracts/http-turns';
import { sessionView, turnView } from '@turnwire/shared/contracts/views';
import { AppError } from '@turnwire/shared/domain/errors';
import type { Turn } from '@turnwire/shared/domain/turn';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { idempotencyOf, markReplay } from '../plugins/idempotency.ts';
import { cancelTurn } from '../turns/cancel-turn.ts';
import type { RouteDeps } from './route-deps.ts';
import { sessionKeyOf } from './session-key.ts';

const tags = ['turns'];
const params = z.object({ id: z.string() });

/** Looking at a turn, and ending it. */
export function turnStateRoutes(app: App, deps: RouteDeps): void {
  async function turnOf(tenantId: string, id: string): Promise<Turn> {
    const turn = await deps.store.sessions.turn(tenantId, id);
    if (turn === null) throw new AppError('not_found', `There is no turn ${JSON.stringify(id)}.`);
    return turn;
  }

  app.route({
    method: 'GET',
    url: '/v1/turns/:id',
    schema: {
      operationId: 'getTurn',
      summary: "Get a turn's status, usage, times and error",
      tags,
      params,
      response: { 200: turnSchema },
    },
    handler: async ({ principal, params: { id } }) => turnView(await turnOf(principal.tenantId, id)),
  });
  app.route({
    method: 'POST',
    url: '/v1/turns/:id/cancel',
    schema: {
      operationId: 'cancelTurn',
      summary: 'End a turn, wherever it is; without effect if it has ended',
      tags,
      params,
      body: cancelSchema,
      response: { 202: turnSchema },
    },
    handler: async (request, reply) => {
      const { tenantId } = request.principal;
      const { id, sessionId } = await turnOf(tenantId, request.params.id);
      const { value, replayed } = await cancelTurn(deps, { tenantId, sessionId }, id, idempotencyOf(request));
      return markReplay(reply, replayed)
        .code(202)
        .send(turnView(value.turn ?? (await turnOf(tenantId, id))));
    },
  });
  app.route({
    method: 'POST',
    url: '/v1/sessions/:id/cancel',
    schema: {
      operationId: 'cancelSession',
      summary: "End the session's active turn, if there is one",
      tags,
      params,
      body: cancelSchema,
      response: { 202: sessionSchema },
    },
    handler: async (request, reply) => {
      const key = sessionKeyOf(request, request.params.id);
      const { value, replayed } = await cancelTurn(deps, key, null, idempotencyOf(request));
      return markReplay(reply, replayed).code(202).send(sessionView(value.session));
    },
  });
}
