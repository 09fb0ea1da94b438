import { runProcess } from '@turnwire/shared/runtime/run-process';
import { startAgentWorker } from './agent-worker.ts';

runProcess('agent worker', async ({ configuration, adapters, model }) => {
  const options = { ...configuration, holder: adapters.holder, recordedWeather: model.demo };
  const worker = startAgentWorker({ ...adapters, options });
  return { ready: `Turnwire's agent worker is ready\nModel: ${model.label}\n`, close: () => worker.close() };
});
