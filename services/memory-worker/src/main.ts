import { runProcess } from '@turnwire/shared/runtime/run-process';
import { startMemoryWorker } from './memory-worker.ts';

runProcess('memory worker', async ({ configuration, adapters }) => {
  const { memoryModel } = configuration;
  const worker = startMemoryWorker({ ...adapters, memoryModel, options: configuration });
  return { ready: "Turnwire's memory worker is ready\n", close: () => worker.close() };
});
