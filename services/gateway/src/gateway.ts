import { AppError } from '@turnwire/shared/domain/errors';
import { createApp } from './app.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { isLoopback } from './plugins/loopback.ts';

export interface GatewayOptions extends GatewayDeps {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface Gateway {
  readonly url: string;
  /**
   * Begins nothing more: what would is answered 503, and `/readyz` too. Resolves when the turns that clients follow have
   * ended, or after `graceMs`.
   */
  drain(graceMs: number): Promise<void>;
  /** Ends the event streams (their clients reconnect elsewhere), refuses new requests, resolves when all have ended. */
  close(): Promise<void>;
}

// What is left of a connection after its response was ended; only a client that reads nothing needs longer.
const CLOSE_MS = 2000;

/** Serves the HTTP API. Resolves when it listens. */
export async function startGateway({ host, port, ...deps }: GatewayOptions): Promise<Gateway> {
  if (deps.apiKeys.length === 0 && !isLoopback(host)) {
    const message = `Without API keys the gateway listens on a loopback address only, not on ${host}. Set API_KEYS.`;
    throw new AppError('forbidden', message);
  }
  const { app, streams, drain } = await createApp(deps);
  // After a restart, all that followed an event stream come back at once.
  const url = await app.listen({ host, port, backlog: 4096 });
  deps.log.info({ url }, 'The gateway listens.');
  return {
    url,
    async drain(graceMs) {
      drain.begun = true;
      const ended = new AbortController();
      await Promise.race([streams.turnsEnded(), deps.clock.sleep(graceMs, ended.signal)]);
      ended.abort();
    },
    async close() {
      const stopWaiting = deps.clock.after(CLOSE_MS, () => app.server.closeAllConnections());
      await app.close();
      stopWaiting();
    },
  };
}
