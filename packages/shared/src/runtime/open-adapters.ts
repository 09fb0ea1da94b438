import { hostname } from 'node:os';
import { loadSdk } from '../adapters/openai/clients.ts';
import { createOpenAiEmbedder } from '../adapters/openai/embedder.ts';
import { createOpenAiLanguageModel } from '../adapters/openai/language-model.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { createSystemIds } from '../adapters/system/ids.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { EventBus } from '../ports/event-bus.ts';
import type { Hooks } from '../ports/hooks.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { LanguageModel } from '../ports/language-model.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadinessCheck } from '../ports/readiness.ts';
import type { Store } from '../ports/store.ts';
import { createReadinessCheck } from './check-readiness.ts';
import type { DefaultModel } from './choose-model.ts';
import type { Configuration } from './config.ts';
import { loadHooks } from './load-hooks.ts';
import { createLogger, openLogStream } from './logger.ts';
import { createMetrics, type ExposedMetrics } from './metrics.ts';
import { openPersistence } from './open-persistence.ts';
import { secretsInUrl } from './secrets-in-url.ts';

export interface Adapters {
  readonly store: Store;
  readonly queue: JobQueue;
  readonly bus: EventBus;
  readonly model: LanguageModel;
  /** Null: no embedding model is configured. */
  readonly embedder: Embedder | null;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: ExposedMetrics;
  readonly readiness: ReadinessCheck;
  /** This process, for people who look at a lease or a log. */
  readonly holder: string;
  /** Loads what the first turn would otherwise wait for; for when the process is ready and has nothing better to do. */
  warmUp(): Promise<void>;
  /** To be called when nothing uses them any more. */
  close(): Promise<void>;
}

/** The one place where ports get their adapters. Throws AppErrors that say what to change. */
export async function openAdapters(configuration: Configuration, defaultModel: DefaultModel): Promise<Adapters> {
  const log = createLogger(
    { level: configuration.logLevel, secrets: secretsOf(configuration) },
    await openLogStream(process.stderr.isTTY && !configuration.production),
  );
  if (configuration.tracesEndpoint !== null) {
    log.warn({}, 'OTEL_EXPORTER_OTLP_ENDPOINT is set, but this version sends no traces.');
  }
  const hooks = await loadHooks(configuration.hooksModule);
  const clock = createSystemClock();
  const ids = createSystemIds(clock);
  const persistence = await openPersistence(configuration, { clock, ids, log });
  return {
    ...persistence,
    ...openModels(configuration, defaultModel, clock, log),
    hooks,
    clock,
    ids,
    log,
    metrics: createMetrics(persistence.queue),
    readiness: createReadinessCheck(persistence, clock, log),
    holder: `${hostname()}-${process.pid}`,
    async warmUp() {
      await loadSdk();
    },
  };
}

function openModels({ embeddingModel }: Configuration, defaultModel: DefaultModel, clock: Clock, log: Logger) {
  const { name, ...endpoint } = defaultModel;
  const env = (variable: string) => process.env[variable];
  const model = createOpenAiLanguageModel({ defaults: { ...endpoint, model: name }, env, clock, log });
  if (embeddingModel === null) return { model, embedder: null };
  const defaults = { ...endpoint, model: embeddingModel };
  return { model, embedder: createOpenAiEmbedder({ defaults, env, clock }) };
}

/** What must never appear in a log: also the keys that agents name by their variables. */
function secretsOf({ apiKeys, metricsKey, model, redisUrl, natsUrl, mongodbUrl }: Configuration): string[] {
  const named = Object.entries(process.env)
    .filter(([name]) => name.endsWith('_API_KEY'))
    .map(([, value]) => value);
  const ofServers = [redisUrl, natsUrl, mongodbUrl].flatMap((url) => (url === null ? [] : secretsInUrl(url)));
  const all = [...apiKeys.map(({ key }) => key), metricsKey, model.apiKey, ...ofServers, ...named];
  return [...new Set(all)].filter((secret) => typeof secret === 'string');
}
