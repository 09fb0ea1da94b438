import { pageQuerySchema, pageSchema, pageView } from '@turnwire/shared/contracts/http-page';
import { AppError } from '@turnwire/shared/domain/errors';
import type { Registered } from '@turnwire/shared/domain/registration';
import type { RegistrationStore } from '@turnwire/shared/ports/config-store';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { noContent } from './no-content.ts';
import { checkPathId } from './path-id.ts';

interface Kind<T, B extends z.ZodType> {
  readonly store: RegistrationStore<T>;
  /** The path's first part, such as `tools`. */
  readonly plural: string;
  /** As the operations and messages call one of them. */
  readonly noun: string;
  readonly title: string;
  readonly name: z.ZodType<string>;
  readonly body: B;
  readonly answer: z.ZodType;
  readonly view: (registered: Registered<T>) => unknown;
  /** What to store, given what is stored under this name. */
  readonly parse: (name: string, body: z.output<B>, stored: T | null) => T;
}

/** What the bodies of registrations have in common. */
type Named = z.ZodType<{ readonly id?: string | undefined; readonly name?: string | undefined }>;

/** PUT, GET, list and DELETE of things that are registered by name. */
export function registrationRoutes<T, B extends Named>(app: App, kind: Kind<T, B>): void {
  writeRoutes(app, kind);
  readRoutes(app, kind);
}

const config = { access: 'admin' } as const;
const params = z.object({ name: z.string() });

function writeRoutes<T, B extends Named>(app: App, kind: Kind<T, B>): void {
  const { store, plural, noun, title, answer, view } = kind;
  const tags = [plural];
  const url = `/v1/${plural}/:name`;
  app.route({
    method: 'PUT',
    url,
    config,
    schema: {
      operationId: `put${noun}`,
      summary: `Create or replace the ${title}`,
      tags,
      params: z.object({ name: kind.name }),
      body: kind.body as Named,
      response: { 200: answer, 201: answer },
    },
    handler: async ({ principal: { tenantId }, params: { name }, body }, reply) => {
      checkPathId(name, { id: body.id, name: body.name });
      const stored = await store.get(tenantId, name);
      // The validator has parsed the body with this very schema.
      const parsed = kind.parse(name, body as z.output<B>, stored?.value ?? null);
      const { value, created } = await store.put(tenantId, name, parsed);
      return reply.code(created ? 201 : 200).send(view(value));
    },
  });
  app.route({
    method: 'DELETE',
    url,
    config,
    schema: {
      operationId: `delete${noun}`,
      summary: `Delete the ${title}`,
      tags,
      params,
      response: { 204: noContent },
    },
    handler: async ({ principal, params: { name } }, reply) => {
      if (!(await store.delete(principal.tenantId, name))) throw missing(title, name);
      return reply.code(204).send();
    },
  });
}

function readRoutes<T, B extends Named>(app: App, { store, plural, noun, title, answer, view }: Kind<T, B>): void {
  const tags = [plural];
  app.route({
    method: 'GET',
    url: `/v1/${plural}`,
    config,
    schema: {
      operationId: `list${noun}s`,
      summary: `List every ${title} by name`,
      tags,
      querystring: pageQuerySchema,
      response: { 200: pageSchema(answer) },
    },
    handler: async ({ principal, query }) => pageView(await store.list(principal.tenantId, query), view),
  });
  app.route({
    method: 'GET',
    url: `/v1/${plural}/:name`,
    config,
    schema: { operationId: `get${noun}`, summary: `Get the ${title}`, tags, params, response: { 200: answer } },
    handler: async ({ principal, params: { name } }) => {
      const registered = await store.get(principal.tenantId, name);
      if (registered === null) throw missing(title, name);
      return view(registered);
    },
  });
}

function missing(title: string, name: string): AppError {
  return new AppError('not_found', `There is no ${title} ${JSON.stringify(name)}.`);
}
