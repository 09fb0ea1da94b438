import { startAgentWorker } from '@turnwire/agent-worker/agent-worker';
import { startGateway } from '@turnwire/gateway/gateway';
import { startMemoryWorker } from '@turnwire/memory-worker/memory-worker';
import { DEFAULT_TENANT } from '@turnwire/shared/domain/tenant';
import { type ProcessParts, type Running, runProcess } from '@turnwire/shared/runtime/run-process';
import { prepareFirstTurn } from './first-steps.ts';
import { readyLines } from './ready-lines.ts';

/** All three services in one process. */
async function start({ configuration, adapters, model }: ProcessParts): Promise<Running> {
  const { memoryModel, apiKeys } = configuration;
  const tenantId = apiKeys[0]?.tenantId ?? DEFAULT_TENANT;
  const session = await prepareFirstTurn(adapters.store, adapters.ids, tenantId);
  // The gateway last: what it accepts finds somebody to do it.
  const workerOptions = { ...configuration, holder: adapters.holder, recordedWeather: model.demo };
  const agentWorker = startAgentWorker({ ...adapters, options: workerOptions });
  const memoryWorker = startMemoryWorker({ ...adapters, memoryModel, options: configuration });
  const gateway = await startGateway({ ...configuration, ...adapters, model });
  const { url } = gateway;
  return {
    ready: readyLines({ url, modelLabel: model.label, sessionId: session.id, withKeys: apiKeys.length > 0 }),
    async close() {
      // The turns in hand end while their readers are still connected, and nobody begins another.
      const drained = gateway.drain(configuration.drainMs);
      await Promise.all([agentWorker.close(), memoryWorker.close(), drained]);
      await gateway.close();
    },
  };
}

runProcess('all-in-one', start);
