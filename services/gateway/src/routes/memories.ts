import {
  forgetUserSchema,
  listMemoriesSchema,
  memorySchema,
  memoryView,
  patchMemorySchema,
  postMemorySchema,
} from '@turnwire/shared/contracts/http-memories';
import { pageSchema, pageView } from '@turnwire/shared/contracts/http-page';
import { AppError } from '@turnwire/shared/domain/errors';
import type { MemoryPatch } from '@turnwire/shared/domain/memory';
import { searchMemories } from '@turnwire/shared/recall/search-memories';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { idempotencyOf, markReplay } from '../plugins/idempotency.ts';
import { noContent } from './no-content.ts';
import type { RouteDeps } from './route-deps.ts';

const tags = ['memories'];
const params = z.object({ id: z.string() });

/** As many as a search looks at. */
const SEARCHED = 10_000;

export function memoryRoutes(app: App, deps: RouteDeps): void {
  readRoute(app, deps);
  addRoute(app, deps);
  changeRoutes(app, deps);
}

function readRoute(app: App, { store }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/v1/memories',
    schema: {
      operationId: 'listMemories',
      summary: "List a user's memories: newest first, or by how well they match a query",
      tags,
      querystring: listMemoriesSchema,
      response: { 200: pageSchema(memorySchema) },
    },
    handler: async ({ principal: { tenantId }, query: { userId, query, limit, cursor } }) => {
      const user = { tenantId, userId };
      if (query === undefined) return pageView(await store.memories.list(user, { limit, cursor }), memoryView);
      const items = searchMemories(await store.memories.valid(user, SEARCHED), query, limit);
      return pageView({ items, nextCursor: null }, memoryView);
    },
  });
}

function addRoute(app: App, { store, ids, clock }: RouteDeps): void {
  app.route({
    method: 'POST',
    url: '/v1/memories',
    schema: {
      operationId: 'addMemory',
      summary: 'Add a memory by hand',
      tags,
      body: postMemorySchema,
      response: { 201: memorySchema },
    },
    handler: async (request, reply) => {
      const now = clock.now();
      const memory = {
        ...request.body,
        id: ids.next('mem'),
        tenantId: request.principal.tenantId,
        quote: null,
        sourceSessionId: null,
        sourceTurnId: null,
        validFrom: now,
        validTo: null,
        supersededBy: null,
        createdAt: now,
        updatedAt: now,
      };
      const { value, replayed } = await store.memories.add(memory, idempotencyOf(request));
      return markReplay(reply, replayed).code(201).send(memoryView(value));
    },
  });
}

function changeRoutes(app: App, { store }: RouteDeps): void {
  app.route({
    method: 'PATCH',
    url: '/v1/memories/:id',
    schema: {
      operationId: 'changeMemory',
      summary: 'Correct or close a memory',
      tags,
      params,
      body: patchMemorySchema,
      response: { 200: memorySchema },
    },
    handler: async ({ principal, params: { id }, body }) => {
      const memory = await store.memories.update(principal.tenantId, id, patchOf(body));
      if (memory === null) throw noSuchMemory(id);
      return memoryView(memory);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/memories/:id',
    schema: {
      operationId: 'deleteMemory',
      summary: 'Delete a memory; it is not extracted again',
      tags,
      params,
      response: { 204: noContent },
    },
    handler: async ({ principal, params: { id } }, reply) => {
      if (!(await store.memories.delete(principal.tenantId, id))) throw noSuchMemory(id);
      return reply.code(204).send();
    },
  });
  app.route({
    method: 'DELETE',
    url: '/v1/memories',
    schema: {
      operationId: 'forgetUser',
      summary: "Delete all of a user's memories",
      tags,
      querystring: forgetUserSchema,
      response: { 204: noContent },
    },
    handler: async ({ principal: { tenantId }, query: { userId } }, reply) => {
      await store.memories.deleteAll({ tenantId, userId });
      return reply.code(204).send();
    },
  });
}

function patchOf({ validTo, ...patch }: z.infer<typeof patchMemorySchema>): MemoryPatch {
  const given = Object.entries({ ...patch, validTo: typeof validTo === 'string' ? Date.parse(validTo) : validTo });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function noSuchMemory(id: string): AppError {
  return new AppError('not_found', `There is no memory ${JSON.stringify(id)}.`);
}
