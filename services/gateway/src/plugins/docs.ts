import type { Logger } from '@turnwire/shared/ports/logger';
import Fastify, { type FastifyInstance } from 'fastify';
import type { App } from '../app-type.ts';
import { handleProblems } from './problem-handler.ts';

/**
 * The API description as pages to read and try, without anything from elsewhere. The viewer costs 30 MB and 150 ms to
 * load, which few servers need: so it is a small application of its own that is made when the first reader comes.
 */
export function serveDocs(app: App, log: Logger): void {
  let viewer: Promise<FastifyInstance> | undefined;
  const config = { access: 'open' } as const;
  for (const url of ['/docs', '/docs/*']) {
    app.get(url, { config, schema: { hide: true } }, async (request, reply) => {
      viewer ??= createViewer(log);
      const { routing } = await viewer;
      reply.hijack();
      reply.raw.setHeader('x-request-id', request.id);
      routing(request.raw, reply.raw);
      return reply;
    });
  }
  app.addHook('onClose', async () => {
    if (viewer !== undefined) await (await viewer).close();
  });
}

async function createViewer(log: Logger): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const viewer = Fastify();
  handleProblems(viewer, log);
  await viewer.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Turnwire API',
      withDefaultFonts: false,
      telemetry: false,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  });
  await viewer.ready();
  return viewer;
}
