import type { OpenAI } from 'openai';
import type { Endpoint } from './endpoint.ts';

/** How many endpoints keep a client. A client is small; the bound only stops endless growth as agents change. */
const MAX_CLIENTS = 256;

type Env = (name: string) => string | undefined;

/** One client per endpoint and key, made when first asked for. */
export class Clients {
  readonly #clients = new Map<string, OpenAI>();
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  async of(endpoint: Endpoint): Promise<OpenAI> {
    const key = JSON.stringify([endpoint.baseUrl, endpoint.apiKey]);
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    const { OpenAI } = await loadSdk();
    const client = new OpenAI(optionsOf(endpoint, this.#env));
    const [oldest] = this.#clients.keys();
    if (oldest !== undefined && this.#clients.size >= MAX_CLIENTS) this.#clients.delete(oldest);
    this.#clients.set(key, client);
    return client;
  }
}

/** Loads the package: 50 to 150 ms, which neither a start nor, once `loadSdk` was called, the first turn waits for. */
export function loadSdk(): Promise<typeof import('openai')> {
  return import('openai');
}

function optionsOf({ baseUrl, apiKey, own }: Endpoint, env: Env): ConstructorParameters<typeof OpenAI>[0] {
  const defaultHeaders: Record<string, string | null> = {};
  if (!own) {
    // The package adds these to every client; they were meant for the server's own endpoint.
    for (const name of headerNames(env('OPENAI_CUSTOM_HEADERS') ?? '')) defaultHeaders[name] = null;
  }
  defaultHeaders['Authorization'] = apiKey === null ? null : `Bearer ${apiKey}`;
  return {
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none', // the package insists on one; the header above takes it away again
    adminAPIKey: null,
    webhookSecret: null,
    ...(own ? {} : { organization: null, project: null }),
    defaultHeaders,
    maxRetries: 0, // the engine retries, with one budget and with resets that clients see
    logLevel: 'off',
  };
}

/** Of `name: value` lines. */
function headerNames(lines: string): string[] {
  return lines
    .split('\n')
    .filter((line) => line.includes(':'))
    .map((line) => line.slice(0, line.indexOf(':')).trim());
}
