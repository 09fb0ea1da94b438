import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ReadinessCheck } from '../ports/readiness.ts';
import type { ExposedMetrics } from './metrics.ts';

export interface HealthServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly readiness: ReadinessCheck;
  readonly metrics: ExposedMetrics;
  /** Null: `/metrics` is open. */
  readonly metricsKey: string | null;
}

export interface HealthServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `/healthz`, `/readyz` and `/metrics` as the gateway does, for a worker that has no other use for HTTP. */
export async function serveHealth(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch(() => response.destroy());
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  options: HealthServerOptions,
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
) {
  const { readiness, metrics, metricsKey } = options;
  const path = method === 'GET' || method === 'HEAD' ? url?.split('?')[0] : undefined;
  switch (path) {
    case '/healthz':
      return send(response, 200, { status: 'ok' });
    case '/readyz': {
      const parts = await readiness();
      const isReady = Object.values(parts).every(({ ok }) => ok);
      return send(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'unavailable', ...parts });
    }
    case '/metrics':
      if (metricsKey !== null && !isBearer(headers.authorization, metricsKey)) {
        return send(response, 401, { message: 'The metrics need METRICS_KEY: "Authorization: Bearer <key>".' });
      }
      response.writeHead(200, { 'Content-Type': metrics.contentType }).end(await metrics.text());
      return;
    default:
      return send(response, 404, { message: 'A worker serves GET /healthz, /readyz and /metrics only.' });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function isBearer(header: string | undefined, key: string): boolean {
  const given = Buffer.from(header ?? '');
  const expected = Buffer.from(`Bearer ${key}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
