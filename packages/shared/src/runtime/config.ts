import { AppError } from '../domain/errors.ts';
import type { ApiKey } from './api-keys.ts';
import { type Environment, environmentSchema } from './environment-schema.ts';

export interface Configuration {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  /** Null: the queue is in the file under `dataDir`. All three may hold a password. */
  readonly redisUrl: string | null;
  /** Null: the bus is in this process, its log in that file. */
  readonly natsUrl: string | null;
  /** Null: the store is in that file. */
  readonly mongodbUrl: string | null;
  /** Sets apart several installations on the same Redis or NATS. */
  readonly namespace: string;
  /** Of a worker that is a process of its own; null: it serves no HTTP. */
  readonly healthPort: number | null;
  /** Turns of one tenant that run at once, over all workers; 0: as many as there are. */
  readonly tenantMaxRunning: number;
  /** Of tenants whose turns start more often, or less, than those of others; the others have 1. */
  readonly tenantWeights: ReadonlyMap<string, number>;
  readonly apiKeys: readonly ApiKey[];
  readonly metricsKey: string | null;
  readonly model: { readonly apiKey: string | null; readonly baseUrl: string | null; readonly name: string };
  /** Null: memories are recalled by words alone. */
  readonly embeddingModel: string | null;
  /** Null: the agent's own model extracts. */
  readonly memoryModel: string | null;
  readonly workerConcurrency: number;
  readonly leaseMs: number;
  readonly sweepMs: number;
  readonly drainMs: number;
  readonly eventRetentionMs: number;
  readonly toolsAllowPrivate: boolean;
  /** Whether MCP servers may be commands of this machine. */
  readonly toolsAllowStdio: boolean;
  /** Path of an ES module whose named exports are the hooks. */
  readonly hooksModule: string | null;
  readonly logLevel: Environment['LOG_LEVEL'];
  readonly production: boolean;
  readonly tracesEndpoint: string | null;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Reads the environment; an empty variable counts as not set. Throws `invalid_request` with all mistakes at once, each
 * naming its variable and what to change. Values are never repeated: any of them may hold a password.
 */
export function readConfiguration(env: Readonly<Record<string, string | undefined>>): Configuration {
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== '');
  const parsed = environmentSchema.safeParse(Object.fromEntries(given));
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map(({ path, message }) => `${path.join('.')} ${message}.`);
  if (parsed.data !== undefined) problems.push(...conflicts(parsed.data));
  if (parsed.data === undefined || problems.length > 0) throw configurationError(problems);
  return configurationOf(parsed.data);
}

/** What is wrong with variables that are right one by one. */
function conflicts(env: Environment): string[] {
  const problems: string[] = [];
  if (!LOOPBACK.test(env.HOST) && env.API_KEYS.length === 0) {
    problems.push(
      'HOST can be reached from other machines, but nobody would need a key: set API_KEYS, or HOST to 127.0.0.1.',
    );
  }
  return problems;
}

function configurationOf(env: Environment): Configuration {
  // Whoever can reach the server is at this machine anyway: nothing that tools may do here is beyond them.
  const ownMachine = LOOPBACK.test(env.HOST) && env.API_KEYS.length === 0;
  return {
    port: env.PORT,
    host: env.HOST,
    dataDir: env.DATA_DIR,
    redisUrl: env.REDIS_URL,
    natsUrl: env.NATS_URL,
    mongodbUrl: env.MONGODB_URL,
    namespace: env.NAMESPACE,
    healthPort: env.HEALTH_PORT,
    tenantMaxRunning: env.TENANT_MAX_RUNNING,
    tenantWeights: env.TENANT_WEIGHTS,
    apiKeys: env.API_KEYS,
    metricsKey: env.METRICS_KEY,
    model: { apiKey: env.OPENAI_API_KEY, baseUrl: env.OPENAI_BASE_URL, name: env.OPENAI_MODEL },
    embeddingModel: env.EMBEDDING_MODEL,
    memoryModel: env.MEMORY_MODEL,
    workerConcurrency: env.WORKER_CONCURRENCY,
    leaseMs: env.LEASE_MS,
    sweepMs: env.SWEEP_MS,
    drainMs: env.DRAIN_MS,
    eventRetentionMs: env.EVENT_RETENTION_HOURS * 3_600_000,
    toolsAllowPrivate: env.TOOLS_ALLOW_PRIVATE ?? ownMachine,
    toolsAllowStdio: env.TOOLS_ALLOW_STDIO ?? ownMachine,
    hooksModule: env.HOOKS_MODULE,
    logLevel: env.LOG_LEVEL,
    production: env.NODE_ENV === 'production',
    tracesEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
  };
}

function configurationError(problems: readonly string[]): AppError {
  const list = problems.map((problem) => `  - ${problem}`).join('\n');
  return new AppError('invalid_request', `The configuration has to be changed:\n${list}`);
}
