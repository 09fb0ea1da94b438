import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../domain/json.ts';
import type { HttpTool, Registered } from '../domain/registration.ts';
import { endpointSchema, headersSchema } from './http-headers.ts';
import { jsonObject, timeSchema } from './http-json.ts';
import { masked } from './http-secrets.ts';
import { isoTime } from './views.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

// Tools that the agent worker brings; a registered one of the same name could never be called.
const BUILT_IN = new Set(['attempt_completion', 'calculator', 'current_time', 'fetch_url', 'get_weather']);

export const toolNameSchema = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens')
  .refine((name) => !BUILT_IN.has(name), 'is the name of a built-in tool');

const parametersSchema = jsonObject(100_000)
  .superRefine((schema, context) => {
    const problem = problemOf(schema);
    if (problem !== null) context.addIssue({ code: 'custom', ...problem });
  })
  .default({ type: 'object', properties: {} })
  .describe('JSON Schema of the arguments: an object');

/** The shape that every model provider insists on. The worker's validator reads the schema as a whole. */
function problemOf(schema: JsonObject): { readonly path: string[]; readonly message: string } | null {
  const { type, properties, required } = schema;
  if (type !== 'object') return { path: ['type'], message: 'must be "object"' };
  if (properties !== undefined && !isJsonObject(properties))
    return { path: ['properties'], message: 'must be an object' };
  for (const [name, property] of Object.entries(properties ?? {})) {
    if (isJsonObject(property) || typeof property === 'boolean') continue;
    return { path: ['properties', name], message: 'must be a JSON Schema' };
  }
  const isNames = Array.isArray(required) && required.every((name) => typeof name === 'string');
  return required === undefined || isNames ? null : { path: ['required'], message: 'must be an array of names' };
}

/** The body of `PUT /v1/tools/{name}`. */
export const putToolSchema = z.strictObject({
  id: z.string().optional().describe('May repeat the name of the path'),
  name: z.string().optional().describe('May repeat the name of the path'),
  description: z.string().max(10_000).default(''),
  parameters: parametersSchema,
  url: endpointSchema,
  method: z.enum(METHODS).default('POST'),
  headers: headersSchema.default({}),
  timeoutMs: z.int().min(1).max(86_400_000).nullable().default(null),
  idempotent: z.boolean().default(false),
});

export const toolSchema = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    parameters: jsonObject(100_000),
    url: z.string(),
    method: z.enum(METHODS),
    headers: z.record(z.string(), z.string()).describe('Values are masked'),
    timeoutMs: z.int().nullable(),
    idempotent: z.boolean(),
    revision: z.int(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Tool' });

/** A registered tool as clients see it: without the values of its headers. */
export function toolView({ value, revision, createdAt, updatedAt }: Registered<HttpTool>) {
  const headers = masked(value.headers);
  return { ...value, headers, revision, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
