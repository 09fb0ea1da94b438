import type { Clock } from '../../ports/clock.ts';
import type { LanguageModel, ModelChunk, ModelRequest } from '../../ports/language-model.ts';
import type { Logger } from '../../ports/logger.ts';
import { Clients } from './clients.ts';
import { CompletionReader } from './completion-reader.ts';
import { completionRequest } from './completion-request.ts';
import { type Endpoint, type EndpointDefaults, endpointOf } from './endpoint.ts';
import { failureOf } from './failure.ts';
import { ResponseBody } from './response-body.ts';

/** Usage follows the finish reason at once. A server that then goes silent without closing is waited for no longer. */
const AFTER_FINISH_MS = 2000;

export interface OpenAiOptions {
  readonly defaults: EndpointDefaults;
  /** Reads an environment variable: the keys that agents name. */
  readonly env: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Models behind OpenAI's Chat Completions protocol, whoever serves it. */
export function createOpenAiLanguageModel(options: OpenAiOptions): LanguageModel {
  const clients = new Clients(options.env);
  return {
    stream(request, signal) {
      const endpoint = endpointOf(request.settings, options.defaults, options.env);
      if ('fault' in endpoint) return refused(endpoint.fault);
      return streamCompletion(options, clients, endpoint, request, signal);
    },
  };
}

async function* refused(message: string): AsyncGenerator<ModelChunk, void, undefined> {
  yield { type: 'error', error: { code: 'model_auth', message, retry: false, retryAfterMs: null } };
}

async function* streamCompletion(
  { defaults, clock, log }: OpenAiOptions,
  clients: Clients,
  endpoint: Endpoint,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk, void, undefined> {
  const reader = new CompletionReader();
  const body = new ResponseBody(signal, clock);
  let problem: unknown = null;
  try {
    const model = request.settings.name ?? defaults.model;
    await body.open(await clients.of(endpoint), completionRequest(request, model, endpoint.baseUrl));
    let bytes: Uint8Array | null;
    do {
      bytes = await body.read();
      if (signal.aborted) return;
      for (const chunk of reader.read(bytes)) yield chunk;
      if (reader.finished) body.closeAfter(AFTER_FINISH_MS);
    } while (bytes !== null && !reader.done);
    problem = reader.fault;
  } catch (error) {
    problem = error;
  } finally {
    body.close(reader.done && reader.fault === null);
  }
  if (signal.aborted) return;
  yield* reader.closing();
  if (reader.finished) return;
  const failure = failureOf(problem, endpoint.apiKey, clock.now());
  log.debug({ host: new URL(endpoint.baseUrl).host, code: failure.code, retry: failure.retry }, failure.message);
  yield { type: 'error', error: failure };
}
