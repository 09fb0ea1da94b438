import { healthSchema, readinessSchema } from '@turnwire/shared/contracts/http-health';
import { AppError } from '@turnwire/shared/domain/errors';
import { z } from 'zod';
import type { App } from '../app-type.ts';
import { bearerToken, isToken } from '../plugins/authenticate.ts';
import type { RouteDeps } from './route-deps.ts';

const tags = ['operation'];
const config = { access: 'open' } as const;

const DEMO_NOTE =
  'The answers come from the built-in demo model: scripted, and no language model. Set OPENAI_API_KEY or OPENAI_BASE_URL.';

export function healthRoutes(app: App, deps: RouteDeps): void {
  const { readiness, model, drain } = deps;
  app.route({
    method: 'GET',
    url: '/healthz',
    config,
    schema: {
      operationId: 'getHealth',
      summary: 'Whether the process is alive',
      tags,
      response: { 200: healthSchema },
    },
    handler: async () => ({ status: 'ok' }),
  });
  app.route({
    method: 'GET',
    url: '/readyz',
    config,
    schema: {
      operationId: 'getReadiness',
      summary: 'Whether store, queue and bus answer, and the server is not about to stop',
      tags,
      response: { 200: readinessSchema, 503: readinessSchema },
    },
    handler: async (_request, reply) => {
      const parts = await readiness();
      const isThere = Object.values(parts).every(({ ok }) => ok);
      const status = drain.begun ? 'stopping' : isThere ? 'ready' : 'unavailable';
      return reply.code(status === 'ready' ? 200 : 503).send({
        status,
        ...parts,
        model: model.label,
        demo: model.demo,
        ...(model.demo ? { note: DEMO_NOTE } : {}),
      });
    },
  });
  metricsRoute(app, deps);
}

function metricsRoute(app: App, { metrics, metricsKey }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    config,
    schema: {
      operationId: 'getMetrics',
      summary: 'Metrics in the text format of Prometheus',
      tags,
      response: { 200: { description: 'The metrics', content: { 'text/plain': { schema: z.string() } } } },
    },
    handler: async ({ headers }, reply) => {
      if (metricsKey !== null && !isToken(bearerToken(headers.authorization), metricsKey)) {
        throw new AppError('unauthorized', 'The metrics need METRICS_KEY: "Authorization: Bearer <key>".');
      }
      return reply.type(metrics.contentType).send(await metrics.text());
    },
  });
}
