import Fastify from 'fastify';
import type { App } from './app-type.ts';
import { acceptKeyAsPassword, serveBoard } from './board/serve-board.ts';
import type { GatewayDeps } from './gateway-deps.ts';
import { createAccessLog } from './plugins/access-log.ts';
import { authenticate } from './plugins/authenticate.ts';
import { serveDocs } from './plugins/docs.ts';
import { guardLoopback } from './plugins/guard-loopback.ts';
import { describeApi } from './plugins/openapi.ts';
import { parseJson } from './plugins/parse-json.ts';
import { ParserRefusals } from './plugins/parser-refusals.ts';
import { handleProblems, refuseWhileClosing, requireHost, sendProblem } from './plugins/problem-handler.ts';
import { type Drain, refuseWhileDraining } from './plugins/refuse-while-draining.ts';
import { compileValidator } from './plugins/validate.ts';
import { agentRoutes } from './routes/agents.ts';
import { eventRoutes } from './routes/events.ts';
import { healthRoutes } from './routes/health.ts';
import { mcpServerRoutes } from './routes/mcp-servers.ts';
import { memoryRoutes } from './routes/memories.ts';
import type { RouteDeps } from './routes/route-deps.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { toolRoutes } from './routes/tools.ts';
import { turnStateRoutes } from './routes/turn-state.ts';
import { turnRoutes } from './routes/turns.ts';
import { EventStreams } from './sse/event-streams.ts';

const MAX_BODY_BYTES = 1024 * 1024;

export interface CreatedApp {
  readonly app: App;
  readonly streams: EventStreams;
  readonly drain: Drain;
}

/** The HTTP application, ready to listen. Closing it ends its event streams first. */
export async function createApp(deps: GatewayDeps): Promise<CreatedApp> {
  const logAccess = createAccessLog(deps);
  const refusals = new ParserRefusals(deps);
  const app: App = Fastify({
    bodyLimit: MAX_BODY_BYTES,
    // A body that does not arrive; event streams are answers and have all the time.
    requestTimeout: 60_000,
    return503OnClosing: false, // ours is a problem document
    // The compilers that Fastify would bring are not used, and take 30 ms to load.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    genReqId: () => deps.ids.next('req'),
    routerOptions: { maxParamLength: 256 },
    // A path that can't be read comes by no hook.
    frameworkErrors(error, request, reply) {
      logAccess(request, reply);
      sendProblem(error, request, reply, deps.log);
    },
    http: { requireHostHeader: false }, // ours is a problem document
    clientErrorHandler: (error, socket) => refusals.refuse(error, socket),
  });
  app.server.on('request', (_request, response) => refusals.observe(response));
  // What a caller expects beyond `100-continue` may be ignored (RFC 9110, 10.1.1); Node alone would answer without a word.
  app.server.on('checkExpectation', (...exchange) => app.server.emit('request', ...exchange));
  // What a handler gives is trusted, so writing it is all there is to do.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setValidatorCompiler(compileValidator);
  app.addHook('onRequest', async (request, reply) => logAccess(request, reply));
  handleProblems(app, deps.log);
  refuseWhileClosing(app);
  const drain: Drain = { begun: false };
  refuseWhileDraining(app, drain);
  requireHost(app);
  if (deps.apiKeys.length === 0) guardLoopback(app);
  acceptKeyAsPassword(app);
  authenticate(app, deps.apiKeys);
  parseJson(app);
  await describeApi(app, deps.apiKeys.length > 0);
  serveDocs(app, deps.log);
  serveBoard(app, deps);
  const streams = new EventStreams(deps);
  app.addHook('preClose', async () => streams.close());
  registerRoutes(app, { ...deps, streams, drain });
  await app.ready();
  return { app, streams, drain };
}

function unused(): never {
  throw new Error('A schema was compiled before the compilers were set.');
}

function registerRoutes(app: App, deps: RouteDeps): void {
  agentRoutes(app, deps);
  toolRoutes(app, deps);
  mcpServerRoutes(app, deps);
  sessionRoutes(app, deps);
  turnRoutes(app, deps);
  turnStateRoutes(app, deps);
  eventRoutes(app, deps);
  memoryRoutes(app, deps);
  healthRoutes(app, deps);
}
