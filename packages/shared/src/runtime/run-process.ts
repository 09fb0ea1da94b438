import { AppError, isAppError } from '../domain/errors.ts';
import { type ChosenModel, chooseModel } from './choose-model.ts';
import { type Configuration, readConfiguration } from './config.ts';
import { loadEnvironmentFile } from './environment-file.ts';
import { type Adapters, openAdapters } from './open-adapters.ts';
import { serveHealth } from './serve-health.ts';
import { installShutdown } from './shutdown.ts';

/** What a process is for. All but `all-in-one` share their work with others. */
export type ProcessKind = 'all-in-one' | 'gateway' | 'agent worker' | 'memory worker';

export interface ProcessParts {
  readonly configuration: Configuration;
  readonly adapters: Adapters;
  readonly model: ChosenModel;
}

/** A process at work. */
export interface Running {
  /** What to say on stdout, now that it is ready. */
  readonly ready: string;
  /** Ends or hands over the work in hand. */
  close(): Promise<void>;
}

/** What the parts may need beyond `DRAIN_MS` to hand over, close their connections and the database. */
const CLOSE_MS = 10_000;

/**
 * The life of a process: reads the configuration, opens the adapters, starts its services, says that it is ready, and
 * stops on SIGTERM. What cannot start says in one sentence what to change, and exits with 1.
 */
export function runProcess(kind: ProcessKind, start: (parts: ProcessParts) => Promise<Running>): void {
  startProcess(kind, start).catch((error: unknown) => {
    process.stderr.write(`Turnwire cannot start. ${explain(error)}\n`);
    process.exit(1);
  });
}

async function startProcess(kind: ProcessKind, start: (parts: ProcessParts) => Promise<Running>): Promise<void> {
  loadEnvironmentFile('.env');
  const configuration = readConfiguration(process.env);
  if (kind !== 'all-in-one') requireServers(kind, configuration);
  const talksToModels = kind !== 'gateway';
  const model = await chooseModel(configuration.model, talksToModels);
  const adapters = await openAdapters(configuration, model.endpoint);
  const running = await start({ configuration, adapters, model });
  const health = await openHealth(kind, configuration, adapters);
  installShutdown({
    ...adapters,
    deadlineMs: configuration.drainMs + CLOSE_MS,
    async stop() {
      await running.close();
      await health?.close();
      await adapters.close();
      await model.close();
    },
  });
  process.stdout.write(running.ready);
  if (talksToModels) await adapters.warmUp();
}

/** A process of its own finds the others' work on the servers; on files of its own it would wait for ever. */
function requireServers(kind: ProcessKind, { redisUrl, natsUrl, mongodbUrl }: Configuration): void {
  const servers = { REDIS_URL: redisUrl, NATS_URL: natsUrl, MONGODB_URL: mongodbUrl };
  const missing = Object.entries(servers).flatMap(([name, url]) => (url === null ? [name] : []));
  if (missing.length === 0) return;
  throw new AppError(
    'invalid_request',
    `The ${kind} as a process of its own shares queue, events and store with other processes: set ` +
      `${missing.join(' and ')} too. For one process that needs none of them, use npm start.`,
  );
}

async function openHealth(kind: ProcessKind, { host, healthPort, metricsKey }: Configuration, adapters: Adapters) {
  if (healthPort === null || kind === 'all-in-one' || kind === 'gateway') return null;
  const health = await serveHealth({ ...adapters, host, port: healthPort, metricsKey });
  adapters.log.info({ url: health.url }, 'Health and metrics are served.');
  return health;
}

/** A failed start in one sentence where that says what to change, otherwise with its stack. */
function explain(error: unknown): string {
  if (isAppError(error)) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `Port ${error.port} is in use by another program: stop that one, or set PORT or HEALTH_PORT to another.`;
  }
  return error.stack ?? error.message;
}
