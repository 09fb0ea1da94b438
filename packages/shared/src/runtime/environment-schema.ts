import { z } from 'zod';
import { type ApiKey, parseApiKeys } from './api-keys.ts';
import { parseTenantWeights } from './tenant-weights.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** A whole number; the message says the range, so that one text serves for every mistake. */
function inRange(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error));
}

function whole(min: number, max: number, fallback: number) {
  return inRange(min, max).default(fallback);
}

function wholeOrNone(min: number, max: number) {
  return inRange(min, max).nullable().default(null);
}

function text() {
  return z.string().nullable().default(null);
}

function httpUrl() {
  // `URL` alone would take `localhost:8000/v1`, as a scheme named localhost.
  return z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
    .nullable()
    .default(null);
}

/** The address of a server, or several of a cluster, which `URL` does not read. */
function address(pattern: RegExp, form: string) {
  return z.string().regex(pattern, `must look like ${form}`).nullable().default(null);
}

const weights = z
  .string()
  .transform((value, context): ReadonlyMap<string, number> => {
    const { weights, problem } = parseTenantWeights(value);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    return weights;
  })
  .default(new Map());

const hours = z
  .string()
  .regex(/^\d{1,6}(\.\d+)?$/, 'must be a number of hours greater than 0')
  .transform(Number)
  .refine((value) => value > 0, 'must be a number of hours greater than 0')
  .default(24);

const flag = z
  .stringbool({
    truthy: ['true', '1', 'yes', 'on'],
    falsy: ['false', '0', 'no', 'off'],
    error: 'must be true or false',
  })
  .nullable()
  .default(null);

const apiKeys = z
  .string()
  .transform((value, context): readonly ApiKey[] => {
    const { keys, problems } = parseApiKeys(value);
    for (const message of problems) context.addIssue({ code: 'custom', message });
    return keys;
  })
  .default([]);

/** Every variable that this server reads, with its default. `.env.example` lists the same. */
export const environmentSchema = z.object({
  PORT: whole(0, 65_535, 3000),
  HOST: z
    .string()
    .regex(/^[\w.:-]+$/, 'must be an address or a host name')
    .default('127.0.0.1'),
  DATA_DIR: z.string().default('./data'),
  REDIS_URL: address(/^rediss?:\/\/\S+$/, 'redis://host:6379, or rediss:// with TLS'),
  NATS_URL: address(/^(nats|tls):\/\/\S+$/, 'nats://host:4222, or tls:// with TLS'),
  MONGODB_URL: address(/^mongodb(\+srv)?:\/\/\S+$/, 'mongodb://host:27017/turnwire'),
  NAMESPACE: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be letters, digits, _ and -, at most 64')
    .default('turnwire'),
  HEALTH_PORT: wholeOrNone(0, 65_535),
  TENANT_MAX_RUNNING: whole(0, 1_000_000, 0),
  TENANT_WEIGHTS: weights,
  API_KEYS: apiKeys,
  METRICS_KEY: text(),
  OPENAI_API_KEY: text(),
  OPENAI_BASE_URL: httpUrl(),
  OPENAI_MODEL: z.string().default('gpt-4o-mini'),
  EMBEDDING_MODEL: text(),
  MEMORY_MODEL: text(),
  WORKER_CONCURRENCY: whole(1, 10_000, 256),
  LEASE_MS: whole(100, 3_600_000, 10_000),
  SWEEP_MS: whole(50, 3_600_000, 2000),
  DRAIN_MS: whole(0, 3_600_000, 5000),
  EVENT_RETENTION_HOURS: hours,
  TOOLS_ALLOW_PRIVATE: flag,
  TOOLS_ALLOW_STDIO: flag,
  HOOKS_MODULE: text(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  NODE_ENV: text(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl(),
});

export type Environment = z.infer<typeof environmentSchema>;
