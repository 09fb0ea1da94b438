import { AppError } from '@turnwire/shared/domain/errors';
import type { App } from '../app-type.ts';
import { hostOf, isLoopback } from './loopback.ts';

/**
 * Where no key is asked for, only this machine's own programs are meant to call. A web page that is open in a browser
 * here is no such program, so two doors are closed to it: a name that it re-bound to 127.0.0.1 (the `Host` is then its
 * own name), and requests that browsers send across origins without asking first (they carry an `Origin`).
 *
 * A proxy in front of a server without keys is refused for the same reason: it would open the server to its clients.
 */
export function guardLoopback(app: App): void {
  app.addHook('onRequest', async ({ headers: { host, origin } }) => {
    if (!isLocal(host)) {
      throw new AppError('forbidden', 'Without API keys the server answers to "localhost" only. Set API_KEYS.');
    }
    if (origin !== undefined && !isLocal(origin)) {
      throw new AppError('forbidden', 'Without API keys web pages of other hosts may not call the server.');
    }
  });
}

function isLocal(authority: string | undefined): boolean {
  const host = hostOf(authority ?? '');
  return host !== null && isLoopback(host);
}
