import { agentIdSchema, agentSchema, agentView, putAgentSchema } from '@turnwire/shared/contracts/http-agents';
import { pageQuerySchema, pageSchema, pageView } from '@turnwire/shared/contracts/http-page';
import { AppError } from '@turnwire/shared/domain/errors';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { noContent } from './no-content.ts';
import { checkPathId } from './path-id.ts';
import type { RouteDeps } from './route-deps.ts';

const tags = ['agents'];
const anyId = z.object({ id: z.string() });

export function agentRoutes(app: App, { store }: RouteDeps): void {
  app.route({
    method: 'PUT',
    url: '/v1/agents/:id',
    config: { access: 'admin' },
    schema: {
      operationId: 'putAgent',
      summary: 'Create or replace an agent',
      tags,
      params: z.object({ id: agentIdSchema }),
      body: putAgentSchema,
      response: { 200: agentSchema, 201: agentSchema },
    },
    handler: async (request, reply) => {
      const { id, ...settings } = request.body;
      checkPathId(request.params.id, { id });
      const { value, created } = await store.agents.put(request.principal.tenantId, request.params.id, settings);
      return reply.code(created ? 201 : 200).send(agentView(value));
    },
  });
  app.route({
    method: 'GET',
    url: '/v1/agents',
    schema: {
      operationId: 'listAgents',
      summary: 'List agents by id',
      tags,
      querystring: pageQuerySchema,
      response: { 200: pageSchema(agentSchema) },
    },
    handler: async ({ principal, query }) => pageView(await store.agents.list(principal.tenantId, query), agentView),
  });
  app.route({
    method: 'GET',
    url: '/v1/agents/:id',
    schema: { operationId: 'getAgent', summary: 'Get an agent', tags, params: anyId, response: { 200: agentSchema } },
    handler: async ({ principal, params: { id } }) => {
      const agent = await store.agents.get(principal.tenantId, id);
      if (agent === null) throw noSuchAgent(id);
      return agentView(agent);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/agents/:id',
    config: { access: 'admin' },
    schema: {
      operationId: 'deleteAgent',
      summary: 'Delete an agent; its turns that have not ended fail',
      tags,
      params: anyId,
      response: { 204: noContent },
    },
    handler: async ({ principal, params: { id } }, reply) => {
      if (!(await store.agents.delete(principal.tenantId, id))) throw noSuchAgent(id);
      return reply.code(204).send();
    },
  });
}

export function noSuchAgent(id: string): AppError {
  return new AppError('not_found', `There is no agent ${JSON.stringify(id)}.`);
}
