import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { answerChat, type ChatDesk } from './answer-chat.ts';
import { answerEmbeddings } from './answer-embeddings.ts';
import { errorBody } from './completion-chunk.ts';
import { embedText } from './embed-text.ts';
import type { ModelHandler } from './model-handler.ts';
import { createRequestLog, type RecordedRequest, type RequestMatch } from './recording.ts';

export type ModelServerOptions = {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free one. */
  port?: number;
  /** Answers 400 to a request with violations; they are recorded either way. Default false. */
  strict?: boolean;
  /** By model name. */
  handlers?: Readonly<Record<string, ModelHandler>>;
  /** Answers for any other name; without it they get 404 `model_not_found`. */
  fallback?: ModelHandler;
  /** Names that `GET /v1/models` lists besides those with a handler. */
  models?: readonly string[];
  /** One text's vector; what it throws becomes a 500. Default `embedText`. */
  embed?: (text: string, dimensions?: number) => readonly number[];
  /** How many of the newest requests are kept. Default all. */
  keepRequests?: number;
};

export type ModelServer = {
  /** Base URL for a client, `http://host:port/v1`. */
  readonly url: string;
  readonly port: number;
  /** Chat requests in the order of their coming, including refused ones. */
  readonly requests: readonly RecordedRequest[];
  setHandler(model: string, handler: ModelHandler): void;
  /** The model's name goes to the fallback again. */
  removeHandler(model: string): void;
  /** Settles with a chat request that matches, also one already there; rejects after its `timeoutMs`. */
  waitForRequest(match?: RequestMatch): Promise<RecordedRequest>;
  /** Cuts what is open and frees the port. May be called again. */
  close(): Promise<void>;
};

/** Starts an OpenAI-compatible server whose answers are scripted by handlers. Rejects if it cannot listen. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const host = options.host ?? '127.0.0.1';
  const handlers = new Map(Object.entries(options.handlers ?? {}));
  const attempts = new Map<string, number>();
  const log = createRequestLog(options.keepRequests ?? Number.POSITIVE_INFINITY);
  const desk: ChatDesk = {
    log,
    strict: options.strict ?? false,
    writers: new Set(),
    handlerOf: (model) => handlers.get(model) ?? options.fallback,
    nextAttempt: (model) => {
      const attempt = (attempts.get(model) ?? 0) + 1;
      attempts.set(model, attempt);
      return attempt;
    },
  };
  const routes = createRoutes(desk, () => [...handlers.keys(), ...(options.models ?? [])], options.embed ?? embedText);
  // Keep-alive of 60 s: with Node's 5 s, idle connections of a client's pool would be closed under a new request.
  const http = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (request, response) => {
    void serve(routes, request, response);
  });
  const port = await listen(http, options.port ?? 0, host);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    port,
    requests: log.requests,
    setHandler: (model, handler) => void handlers.set(model, handler),
    removeHandler: (model) => void handlers.delete(model),
    waitForRequest: (match = {}) => log.waitFor(match),
    close: async () => {
      for (const writer of desk.writers) writer.cut();
      await new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      });
    },
  };
}

type Route = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function createRoutes(
  desk: ChatDesk,
  modelNames: () => readonly string[],
  embed: (text: string, dimensions?: number) => readonly number[],
): ReadonlyMap<string, Route> {
  const models: Route = async (_request, response) => {
    const data = [...new Set(modelNames())].map((id) => ({ id, object: 'model', created: 0, owned_by: 'turnwire' }));
    sendJson(response, 200, { object: 'list', data });
  };
  return new Map([
    ['GET /v1/models', models],
    [
      'POST /v1/chat/completions',
      async (request, response) => answerChat(desk, request, response, await readJson(request)),
    ],
    [
      'POST /v1/embeddings',
      async (request, response) => {
        const { status, body } = answerEmbeddings(await readJson(request), embed);
        sendJson(response, status, body);
      },
    ],
  ]);
}

async function serve(routes: ReadonlyMap<string, Route>, request: IncomingMessage, response: ServerResponse) {
  const [path] = (request.url ?? '/').split('?');
  const route = routes.get(`${request.method} ${path}`);
  if (route === undefined) {
    sendJson(response, 404, errorBody(`unknown call: ${request.method} ${path}`));
    return;
  }
  try {
    await route(request, response);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof SyntaxError) sendJson(response, 400, errorBody(`the body is not JSON: ${message}`));
    else sendJson(response, 500, errorBody(message, null, 'server_error'));
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function listen(http: Server, port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  http.once('error', reject);
  http.listen(port, host, () => {
    http.off('error', reject);
    const address = http.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
  });
  return promise;
}
