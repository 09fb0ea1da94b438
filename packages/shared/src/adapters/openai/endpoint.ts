import type { ModelSettings } from '../../domain/agent.ts';

const OPENAI_BASE_URL = 'https://api.openai.com/v1';

/** The server's own endpoint, used where an agent names none. */
export interface EndpointDefaults {
  /** Null: OpenAI's. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly model: string;
}

export interface Endpoint {
  readonly baseUrl: string;
  /** Null: requests carry no `Authorization`. */
  readonly apiKey: string | null;
  /** Whether it is the server's own. */
  readonly own: boolean;
}

/** An agent's settings cannot be served; the sentence says what to change. */
export interface EndpointFault {
  readonly fault: string;
}

/** The server's own endpoint. */
export function ownEndpoint({ baseUrl, apiKey }: EndpointDefaults): Endpoint {
  return { baseUrl: trimmed(baseUrl ?? OPENAI_BASE_URL), apiKey, own: true };
}

/**
 * Where an agent's requests go, and with which key. Another address than the server's own never gets the server's key,
 * not even where the agent names that key's variable: whoever may write agents could send it to any host.
 */
export function endpointOf(
  settings: Pick<ModelSettings, 'baseUrl' | 'apiKeyEnv'>,
  defaults: EndpointDefaults,
  env: (name: string) => string | undefined,
): Endpoint | EndpointFault {
  const server = ownEndpoint(defaults);
  const baseUrl = trimmed(settings.baseUrl ?? server.baseUrl);
  const own = baseUrl === server.baseUrl;
  if (settings.apiKeyEnv === null) return own ? server : { baseUrl, apiKey: null, own };
  const apiKey = env(settings.apiKeyEnv);
  if (apiKey === undefined || apiKey === '') {
    return { fault: `The agent's model key is not there: set the environment variable ${settings.apiKeyEnv}.` };
  }
  if (!own && apiKey === defaults.apiKey) {
    return { fault: `The server's own model key is not sent to another address: give the agent a key of its own.` };
  }
  return { baseUrl, apiKey, own };
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}
