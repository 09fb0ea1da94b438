import { messageSchema } from '@turnwire/shared/contracts/http-messages';
import { pageQuerySchema, pageSchema, pageView } from '@turnwire/shared/contracts/http-page';
import { createSessionSchema, listSessionsSchema, sessionSchema } from '@turnwire/shared/contracts/http-sessions';
import { messageView, sessionView } from '@turnwire/shared/contracts/views';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { idempotencyOf, markReplay } from '../plugins/idempotency.ts';
import { deleteSession } from '../turns/delete-session.ts';
import { noSuchAgent } from './agents.ts';
import { noContent } from './no-content.ts';
import type { RouteDeps } from './route-deps.ts';
import { noSuchSession, sessionKeyOf } from './session-key.ts';

const tags = ['sessions'];
const params = z.object({ id: z.string() });

export function sessionRoutes(app: App, deps: RouteDeps): void {
  const { store } = deps;
  createRoute(app, deps);
  app.route({
    method: 'GET',
    url: '/v1/sessions',
    schema: {
      operationId: 'listSessions',
      summary: 'List sessions, newest first',
      tags,
      querystring: listSessionsSchema,
      response: { 200: pageSchema(sessionSchema) },
    },
    handler: async ({ principal: { tenantId }, query: { userId = null, state = null, limit, cursor } }) =>
      pageView(await store.sessions.list({ tenantId, userId, state, limit, cursor }), sessionView),
  });
  app.route({
    method: 'GET',
    url: '/v1/sessions/:id',
    schema: { operationId: 'getSession', summary: 'Get a session', tags, params, response: { 200: sessionSchema } },
    handler: async (request) => {
      const session = await store.sessions.get(sessionKeyOf(request, request.params.id));
      if (session === null) throw noSuchSession(request.params.id);
      return sessionView(session);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/sessions/:id',
    schema: {
      operationId: 'deleteSession',
      summary: 'Cancel what runs and remove the session with all its data',
      tags,
      params,
      response: { 204: noContent },
    },
    handler: async (request, reply) => {
      const deleted = await deleteSession(deps, sessionKeyOf(request, request.params.id));
      if (!deleted) throw noSuchSession(request.params.id);
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/sessions/:id/messages',
    schema: {
      operationId: 'listMessages',
      summary: "List a session's messages, oldest first",
      tags,
      params,
      querystring: pageQuerySchema,
      response: { 200: pageSchema(messageSchema) },
    },
    handler: async (request) => {
      const page = await store.sessions.messages(sessionKeyOf(request, request.params.id), request.query);
      if (page === null) throw noSuchSession(request.params.id);
      return pageView(page, messageView);
    },
  });
}

function createRoute(app: App, { store, ids }: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/v1/sessions',
    config: { beginsWork: true },
    schema: {
      operationId: 'createSession',
      summary: 'Create a session of a user with an agent',
      tags,
      body: createSessionSchema,
      response: { 201: sessionSchema },
    },
    handler: async (request, reply) => {
      const { tenantId } = request.principal;
      const { agentId, userId, metadata } = request.body;
      const idempotency = idempotencyOf(request);
      if ((await store.agents.get(tenantId, agentId)) === null) throw noSuchAgent(agentId);
      const input = { id: ids.next('ses'), tenantId, userId, agentId, metadata };
      const { value, replayed } = await store.sessions.create(input, idempotency);
      return markReplay(reply, replayed).code(201).send(sessionView(value));
    },
  });
}
