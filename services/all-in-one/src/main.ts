import { startAgentWorker } from '@turnwire/agent-worker/agent-worker';
import { startGateway } from '@turnwire/gateway/gateway';
import { startMemoryWorker } from '@turnwire/memory-worker/memory-worker';
import { isAppError } from '@turnwire/shared/domain/errors';
import { DEFAULT_TENANT } from '@turnwire/shared/domain/tenant';
import { type Configuration, readConfiguration } from '@turnwire/shared/runtime/config';
import { loadEnvironmentFile } from '@turnwire/shared/runtime/environment-file';
import { type Adapters, openAdapters } from '@turnwire/shared/runtime/open-adapters';
import { installShutdown } from '@turnwire/shared/runtime/shutdown';
import { type ChosenModel, chooseModel } from './default-model.ts';
import { prepareFirstTurn } from './first-steps.ts';
import { readyLines } from './ready-lines.ts';

/** What the parts may need beyond `DRAIN_MS` to hand over, close their connections and the database. */
const CLOSE_MS = 10_000;

/** All three services in one process, over the embedded adapters. */
async function start(): Promise<void> {
  loadEnvironmentFile('.env');
  const configuration = readConfiguration(process.env);
  const model = await chooseModel(configuration.model);
  const adapters = await openAdapters(configuration, model.endpoint);
  const tenantId = configuration.apiKeys[0]?.tenantId ?? DEFAULT_TENANT;
  const session = await prepareFirstTurn(adapters.store, adapters.ids, tenantId);
  const services = await startServices(configuration, adapters, model);
  installShutdown({
    ...adapters,
    deadlineMs: configuration.drainMs + CLOSE_MS,
    async stop() {
      await services.close();
      await adapters.close();
      await model.demo?.close();
    },
  });
  const withKeys = configuration.apiKeys.length > 0;
  process.stdout.write(readyLines({ url: services.url, modelLabel: model.label, sessionId: session.id, withKeys }));
  await adapters.warmUp();
}

interface Services {
  readonly url: string;
  close(): Promise<void>;
}

async function startServices(configuration: Configuration, adapters: Adapters, model: ChosenModel): Promise<Services> {
  const { sweepMs, eventRetentionMs, memoryModel, metricsKey, host, port } = configuration;
  // The gateway last: what it accepts finds somebody to do it.
  const agentWorker = await startAgentWorker({ ...adapters, options: workerOptions(configuration, adapters, model) });
  const memoryWorker = await startMemoryWorker({ ...adapters, memoryModel, options: { sweepMs, eventRetentionMs } });
  const gateway = await startGateway({
    ...adapters,
    model: { label: model.label, demo: model.demo !== null },
    keys: configuration.apiKeys,
    allowStdio: configuration.toolsAllowStdio,
    metricsKey,
    host,
    port,
  });
  return {
    url: gateway.url,
    async close() {
      // The turns in hand end while their readers are still connected.
      await Promise.all([agentWorker.close(), memoryWorker.close()]);
      await gateway.close();
    },
  };
}

function workerOptions(configuration: Configuration, { holder }: Adapters, { demo }: ChosenModel) {
  const { workerConcurrency, leaseMs, sweepMs, drainMs, toolsAllowPrivate, toolsAllowStdio } = configuration;
  return {
    holder,
    concurrency: workerConcurrency,
    leaseMs,
    sweepMs,
    drainMs,
    allowPrivateAddresses: toolsAllowPrivate,
    allowStdio: toolsAllowStdio,
    recordedWeather: demo !== null,
  };
}

/** A failed start in one sentence where that says what to change, otherwise with its stack. */
function explain(error: unknown): string {
  if (isAppError(error)) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `Port ${error.port} is in use by another program: stop that one, or set PORT to another.`;
  }
  return error.stack ?? error.message;
}

start().catch((error: unknown) => {
  process.stderr.write(`Turnwire cannot start. ${explain(error)}\n`);
  process.exit(1);
});
