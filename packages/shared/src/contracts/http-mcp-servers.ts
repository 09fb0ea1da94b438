import { z } from 'zod';
import type { McpServer, Registered } from '../domain/registration.ts';
import { endpointSchema, headersSchema } from './http-headers.ts';
import { timeSchema } from './http-json.ts';
import { masked } from './http-secrets.ts';
import { isoTime } from './views.ts';

export const mcpServerNameSchema = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or hyphens');

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'must be the name of an environment variable');
const noNul = /^[^\0]*$/;

/** The body of `PUT /v1/mcp-servers/{name}`: a program to start, or an endpoint. */
export const putMcpServerSchema = z
  .strictObject({
    id: z.string().optional().describe('May repeat the name of the path'),
    name: z.string().optional().describe('May repeat the name of the path'),
    command: z.string().min(1).max(2000).regex(noNul).optional(),
    args: z.array(z.string().max(8000).regex(noNul)).max(200).optional(),
    env: z.record(variable, z.string().max(8000).regex(noNul)).optional(),
    url: endpointSchema.optional(),
    headers: headersSchema.optional(),
  })
  .superRefine(({ command, args, env, url, headers }, context) => {
    const message = 'Give either "command" (with "args" and "env") or "url" (with "headers").';
    const isProgram = command !== undefined && url === undefined && headers === undefined;
    const isEndpoint = url !== undefined && command === undefined && args === undefined && env === undefined;
    if (!isProgram && !isEndpoint) context.addIssue({ code: 'custom', path: [], message });
  });

export function mcpServerOf(name: string, body: z.infer<typeof putMcpServerSchema>): McpServer {
  const { command, args = [], env = {}, url, headers = {} } = body;
  if (command !== undefined) return { name, transport: 'stdio', command, args, env };
  return { name, transport: 'http', url: url ?? '', headers };
}

const stamps = { revision: z.int(), createdAt: timeSchema, updatedAt: timeSchema };
const maskedValues = z.record(z.string(), z.string()).describe('Values are masked');

export const mcpServerSchema = z
  .union([
    z.strictObject({ name: z.string(), command: z.string(), args: z.array(z.string()), env: maskedValues, ...stamps }),
    z.strictObject({ name: z.string(), url: z.string(), headers: maskedValues, ...stamps }),
  ])
  .meta({ id: 'McpServer' });

/** A registered MCP server as clients see it: without the values of its variables or headers. */
export function mcpServerView({ value, revision, createdAt, updatedAt }: Registered<McpServer>) {
  const stamped = { revision, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
  const { name } = value;
  if (value.transport === 'http') return { name, url: value.url, headers: masked(value.headers), ...stamped };
  return { name, command: value.command, args: value.args, env: masked(value.env), ...stamped };
}
