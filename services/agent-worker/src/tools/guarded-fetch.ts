import dns from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { toFetchError } from './fetch-error.ts';
import { ToolError } from './tool-error.ts';

const MAX_REDIRECTS = 5;
const USER_AGENT = 'turnwire';

/** Headers that a redirect to another origin still carries: all others may hold secrets, or ids of the caller's. */
const KEPT_ACROSS_ORIGINS = ['accept', 'user-agent'];

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface GuardedFetchOptions {
  /** Whether a connection to this IP address may be made. */
  readonly permits: (address: string) => boolean;
  /** All addresses of a host name. Default: the system's resolver. */
  readonly resolve?: (hostname: string) => Promise<readonly ResolvedAddress[]>;
}

export interface GuardedFetch {
  /**
   * `fetch` to addresses that are permitted only. The addresses of a host are checked in the look-up that the connection
   * itself is made from, so that a name cannot point elsewhere between check and use, and again for every redirect.
   * Only `http:` and `https:`, no user names or passwords in URLs, no ports that the Fetch standard blocks.
   *
   * Redirects are followed for GET and HEAD, at most 5, without the caller's headers when they lead to another origin;
   * `redirect: 'manual'` answers them as they are. Takes as long as it takes: give a signal, whose abort closes the
   * socket. Throws a `ToolError` that can be shown, or the signal's reason.
   */
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Ends all connections. */
  close(): Promise<void>;
}

export function createGuardedFetch({ permits, resolve = resolveAll }: GuardedFetchOptions): GuardedFetch {
  let opening: ReturnType<typeof openAgent> | null = null;
  const fetchOnce = async (url: URL, init: RequestInit) => {
    checkUrl(url, permits);
    opening ??= openAgent(guardedLookup(permits, resolve));
    const { agent, fetch } = await opening;
    try {
      return await fetch(url, { ...init, redirect: 'manual', dispatcher: agent });
    } catch (error) {
      throw toFetchError(error, url.host, init.signal);
    }
  };
  return {
    async fetch(url, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has('user-agent')) headers.set('user-agent', USER_AGENT);
      const request = { ...init, headers };
      const first = parseUrl(url);
      if (init.redirect === 'manual') return fetchOnce(first, request);
      return follow(fetchOnce, first, request);
    },
    async close() {
      await (await opening)?.agent.destroy();
    },
  };
}

/** With the first request: loading undici takes as long as a good part of the whole start. */
async function openAgent(lookup: LookupFunction) {
  const { Agent, fetch } = await import('undici');
  const agent = new Agent({
    allowH2: false, // an abort is to close the socket, not one stream of it
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 10_000, lookup },
  });
  return { agent, fetch };
}

async function follow(
  fetchOnce: (url: URL, init: RequestInit) => Promise<Response>,
  first: URL,
  init: RequestInit & { readonly headers: Headers },
): Promise<Response> {
  const isRead = ['GET', 'HEAD'].includes((init.method ?? 'GET').toUpperCase());
  let url = first;
  let { headers } = init;
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetchOnce(url, { ...init, headers });
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    if (!isRead) throw new ToolError(`${url.host} answered with a redirect, which is followed for GET only.`);
    if (redirects === MAX_REDIRECTS) throw new ToolError(`${first.host} redirects more than ${MAX_REDIRECTS} times.`);
    const next = parseUrl(location, url);
    if (next.origin !== url.origin) {
      headers = new Headers([...headers].filter(([name]) => KEPT_ACROSS_ORIGINS.includes(name)));
    }
    url = next;
  }
}

function parseUrl(url: string | URL, base?: URL): URL {
  if (!URL.canParse(String(url), base)) throw new ToolError(`"${shown(String(url))}" is not a valid URL.`);
  return new URL(url, base);
}

function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function checkUrl(url: URL, permits: (address: string) => boolean): void {
  const { protocol, username, password, hostname } = url;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new ToolError(`Only http and https URLs can be fetched, not ${shown(protocol)}`);
  }
  if (username !== '' || password !== '') throw new ToolError('A URL must hold no user name or password.');
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && !permits(literal)) throw refusedAddress(hostname);
}

function refusedAddress(hostname: string): ToolError {
  return new ToolError(`${hostname} is an address of a private or reserved network, which may not be reached.`);
}

async function resolveAll(hostname: string): Promise<readonly ResolvedAddress[]> {
  return dns.lookup(hostname, { all: true });
}

/** Refuses a name if any of its addresses is not permitted: which one is connected to is not ours to decide. */
function guardedLookup(
  permits: (address: string) => boolean,
  resolve: NonNullable<GuardedFetchOptions['resolve']>,
): LookupFunction {
  const resolvePermitted = async (hostname: string) => {
    const addresses = await resolve(hostname);
    if (!addresses.every(({ address }) => permits(address))) throw refusedAddress(hostname);
    const [first] = addresses;
    if (first === undefined) throw new ToolError(`The host ${hostname} has no address.`);
    return { first, addresses };
  };
  return (hostname, options, callback) => {
    resolvePermitted(hostname).then(
      ({ first, addresses }) => {
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}
