import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '@turnwire/shared/domain/errors';
import { DEFAULT_TENANT, type Principal } from '@turnwire/shared/domain/tenant';
import type { App } from '../app-type.ts';
import type { ApiKey } from '../gateway-deps.ts';

const EVERYBODY: Principal = { tenantId: DEFAULT_TENANT, role: 'admin' };

/** Finds out who calls and refuses whoever may not. Runs before the body is read. */
export function authenticate(app: App, keys: readonly ApiKey[]): void {
  const known = keys.map(({ key, tenantId, role }) => ({ hash: hashOf(key), principal: { tenantId, role } }));

  function principalOf(authorization: string | undefined): Principal {
    if (known.length === 0) return EVERYBODY;
    const hash = hashOf(bearerToken(authorization) ?? '');
    // No early exit: how long it takes tells nothing about the keys.
    const found = known.reduce<Principal | null>(
      (match, key) => (timingSafeEqual(key.hash, hash) ? key.principal : match),
      null,
    );
    if (found === null) throw new AppError('unauthorized', 'Give a valid API key: "Authorization: Bearer <key>".');
    return found;
  }

  app.decorateRequest('principal');
  app.addHook('onRequest', async (request) => {
    const access = request.routeOptions.config.access ?? 'user';
    if (access === 'open' || request.is404) return;
    request.principal = principalOf(request.headers.authorization);
    if (access === 'admin' && request.principal.role !== 'admin') {
      throw new AppError('forbidden', 'This needs a key with the role admin.');
    }
  });
}

/** The token of `Authorization: Bearer <token>`; null where there is none. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** Whether a token is the expected one, in constant time. */
export function isToken(token: string | null, expected: string): boolean {
  return timingSafeEqual(hashOf(token ?? ''), hashOf(expected));
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
