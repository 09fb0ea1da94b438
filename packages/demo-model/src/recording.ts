import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from './chat-request.ts';

/** `received` (no byte sent yet) → `answering` → `finished`, `aborted` (the client left) or `cut` (the server left). */
export type RequestState = 'received' | 'answering' | 'finished' | 'aborted' | 'cut';

/** One chat request as it went. Times are milliseconds since the epoch. */
export type RecordedRequest = {
  readonly model: string;
  readonly body: ChatRequest;
  readonly headers: IncomingHttpHeaders;
  /** 1 for the first request that named this model. */
  readonly attempt: number;
  readonly violations: readonly string[];
  readonly at: number;
  state: RequestState;
  /** The status sent; `null` before the first byte. */
  status: number | null;
  firstByteAt: number | null;
  finishedAt: number | null;
  /** When the client's leaving was seen; `null` if it did not leave early. */
  abortedAt: number | null;
  /** Body bytes and writes handed to the socket so far; after an abort, those until then. */
  bytesSent: number;
  chunksSent: number;
  /** What a handler threw, apart from the client's leaving. */
  handlerError: unknown;
};

export type RequestMatch = {
  model?: string;
  /** Any further condition; looked at again whenever a request changes its state. */
  where?: (request: RecordedRequest) => boolean;
  /** The state that it must have reached; `answering` is also met by what follows it. Default `received`: any state. */
  state?: RequestState;
  /** Which of the matching ones, from 1. */
  nth?: number;
  /** Default 5000. */
  timeoutMs?: number;
};

type Waiter = { match: RequestMatch; resolve: (request: RecordedRequest) => void };

export type RequestLog = {
  readonly requests: readonly RecordedRequest[];
  add(request: RecordedRequest): void;
  /** To be called after a request's state has changed. */
  changed(): void;
  /** Settles with a request that matches, also one already there; rejects after `timeoutMs`. */
  waitFor(match: RequestMatch): Promise<RecordedRequest>;
};

/** @param keep how many of the newest requests are kept */
export function createRequestLog(keep: number): RequestLog {
  const requests: RecordedRequest[] = [];
  const waiters = new Set<Waiter>();
  const changed = () => {
    for (const waiter of waiters) {
      const found = findRequest(requests, waiter.match);
      if (found !== undefined) waiter.resolve(found);
    }
  };
  return {
    requests,
    changed,
    add: (request) => {
      requests.push(request);
      if (requests.length > keep) requests.shift();
      changed();
    },
    waitFor: (match) => {
      const { promise, resolve, reject } = Promise.withResolvers<RecordedRequest>();
      const waiter = { match, resolve };
      const timeoutMs = match.timeoutMs ?? 5000;
      const timer = setTimeout(() => reject(new Error(timeoutText(match, timeoutMs, requests))), timeoutMs);
      waiters.add(waiter);
      changed();
      return promise.finally(() => {
        clearTimeout(timer);
        waiters.delete(waiter);
      });
    },
  };
}

function findRequest(requests: readonly RecordedRequest[], match: RequestMatch): RecordedRequest | undefined {
  const matching = requests.filter(
    (request) =>
      (match.model === undefined || request.model === match.model) &&
      hasReached(request.state, match.state ?? 'received') &&
      (match.where?.(request) ?? true),
  );
  return matching[(match.nth ?? 1) - 1];
}

function hasReached(state: RequestState, wanted: RequestState): boolean {
  if (wanted === 'received') return true;
  if (wanted === 'answering') return state !== 'received';
  return state === wanted;
}

function timeoutText(match: RequestMatch, timeoutMs: number, requests: readonly RecordedRequest[]): string {
  const wanted = `${match.state ?? 'received'} request ${match.nth ?? 1}${match.model ? ` of '${match.model}'` : ''}`;
  const seen = requests.map(({ model, state }) => `${model}: ${state}`).join(', ');
  return `no ${wanted} within ${timeoutMs} ms; seen: ${seen || 'none'}`;
}
