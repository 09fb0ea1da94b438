import { type Accepted, type Answer, type Api, createApi, type TurnInput } from './api.ts';
import { EventStream } from './event-stream.ts';
import { Follower } from './follower.ts';

export interface StreamInit {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A caller of the server, and all that it was told. */
export interface Client {
  readonly api: Api;
  readonly accepted: Accepted;
  /** Every stream that was opened. */
  readonly streams: readonly EventStream[];
  readonly followers: readonly Follower[];
  /** Opens an event stream. Rejects where the answer is none. */
  stream(path: string, init?: StreamInit): Promise<EventStream>;
  /** Posts a turn and follows it. */
  streamTurn(sessionId: string, input: TurnInput, headers?: Readonly<Record<string, string>>): Promise<EventStream>;
  follow(sessionId: string): Follower;
  /** Leaves all streams. */
  close(): void;
}

export function createClient(url: string, apiKey: string | null): Client {
  const accepted: Accepted = { sessions: new Set(), turns: new Map() };
  const streams: EventStream[] = [];
  const followers: Follower[] = [];
  const authorization = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };

  function send(path: string, method: string, { body, headers }: StreamInit, signal: AbortSignal | null) {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(url + path, { method, signal, headers: { ...authorization, ...json, ...headers }, ...sent });
  }

  async function stream(path: string, init: StreamInit = {}): Promise<EventStream> {
    const abort = new AbortController();
    const headers = { accept: 'text/event-stream', ...init.headers };
    const response = await send(path, init.method ?? 'GET', { ...init, headers }, abort.signal);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      throw new Error(`${path} answered ${response.status} and no events: ${await response.text()}`);
    }
    const opened = new EventStream(path, response, abort);
    streams.push(opened);
    return opened;
  }

  return {
    accepted,
    streams,
    followers,
    stream,
    api: createApi(
      async (method, path, body, headers = {}) => answerOf(await send(path, method, { body, headers }, null)),
      accepted,
    ),
    async streamTurn(sessionId, input, headers = {}) {
      const opened = await stream(`/v1/sessions/${sessionId}/turns`, { method: 'POST', body: input, headers });
      const { data } = await opened.until(() => true);
      accepted.turns.set(data.turnId, sessionId);
      return opened;
    },
    follow(sessionId) {
      const follower = new Follower(sessionId, (lastEventId) =>
        stream(`/v1/sessions/${sessionId}/events`, { headers: { 'last-event-id': String(lastEventId) } }),
      );
      followers.push(follower);
      return follower;
    },
    close() {
      for (const follower of followers) follower.close();
      for (const one of streams) one.close();
    },
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}
