import { runProcess } from '@turnwire/shared/runtime/run-process';
import { startGateway } from './gateway.ts';

runProcess('gateway', async ({ configuration, adapters, model }) => {
  const gateway = await startGateway({ ...configuration, ...adapters, model });
  return {
    ready: `Turnwire's gateway is ready at ${gateway.url}\nModel: ${model.label}\n`,
    async close() {
      await gateway.drain(configuration.drainMs);
      await gateway.close();
    },
  };
});
