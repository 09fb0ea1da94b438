import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import { problemSchema } from '@turnwire/shared/contracts/http-problem';
import type { RouteOptions } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { App } from '../app-type.ts';
import { PROBLEM_CODES, PROBLEM_KINDS } from './problem.ts';

const CODES = PROBLEM_CODES.map(
  (code) => `| \`${code}\` | ${PROBLEM_KINDS[code].status} | ${PROBLEM_KINDS[code].title} |`,
);

const DESCRIPTION = `Turnwire runs AI agents as a service: post a turn to a session, follow its events.

Every call that is refused answers \`application/problem+json\` (RFC 9457) with a stable \`code\`:

| code | status | |
|---|---|---|
${CODES.join('\n')}

Every POST takes an \`Idempotency-Key\`: the same key and body answer the first answer again, with \`Idempotency-Replayed: true\`.`;

const PROBLEM_RESPONSE = {
  description: 'The call is refused',
  content: { 'application/problem+json': { schema: problemSchema } },
};

const IDEMPOTENCY_KEY = {
  type: 'object',
  properties: {
    'Idempotency-Key': { type: 'string', minLength: 1, maxLength: 255, description: 'Makes the call safe to repeat' },
  },
};

/** Describes the API at `/openapi.json`, from the schemas that the routes are checked with. Built when first asked for. */
export async function describeApi(app: App, isKeyNeeded: boolean): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Turnwire', version: '1', description: DESCRIPTION },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      ...(isKeyNeeded ? { security: [{ key: [] }] } : {}),
    },
    transform: (document) => {
      const response = { ...Object(document.schema?.response), default: PROBLEM_RESPONSE };
      const { schema, url } = jsonSchemaTransform({ ...document, schema: { ...document.schema, response } });
      return { schema: { ...schema, ...whatCallersNeed(document.route) }, url };
    },
    transformObject: (document) => withPlainWords(withoutInputs(jsonSchemaTransformObject(document))),
  });
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async () => app.swagger(),
  });
}

/** What follows from a route's settings rather than from its schemas. */
function whatCallersNeed({ method, config }: RouteOptions) {
  return {
    ...(method === 'POST' ? { headers: IDEMPOTENCY_KEY } : {}),
    ...(config?.access === 'admin' ? { description: 'For keys with the role `admin`.' } : {}),
    ...(config?.access === 'open' ? { security: [] } : {}),
  };
}

type Described = ReturnType<typeof jsonSchemaTransformObject>;

/** Each named schema comes in two forms, as it is sent and as it is read. Named are only those that are sent. */
function withoutInputs(document: Described): Described {
  if (!('components' in document) || document.components?.schemas === undefined) return document;
  const names = Object.entries(document.components.schemas).filter(([name]) => !name.endsWith('Input'));
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(names) } } as Described;
}

interface Body {
  readonly anyOf?: readonly { readonly type?: string }[];
}

interface Operation {
  readonly requestBody?: { required: boolean; readonly content: Readonly<Record<string, { readonly schema: Body }>> };
  readonly responses: Readonly<Record<string, { description: string }>>;
}

/** Mends what the generator says of every operation: that its body is required, and that its answers are "default". */
function withPlainWords(document: Described): Described {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path ?? {}) as Operation[]);
  for (const { requestBody, responses } of operations) {
    // What may be null may be left out.
    const isOptional = requestBody?.content['application/json']?.schema.anyOf?.some(({ type }) => type === 'null');
    if (requestBody !== undefined && isOptional === true) requestBody.required = false;
    for (const [status, response] of Object.entries(responses)) {
      if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? status;
    }
  }
  return document;
}
