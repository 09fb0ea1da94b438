import { AppError } from '@turnwire/shared/domain/errors';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { FastifyRequest } from 'fastify';

/**
 * The session that a path names. An id of another shape than ours can't exist, and is refused before it gets into the
 * subjects and keys of a bus, where some characters have a meaning.
 */
export function sessionKeyOf({ principal }: FastifyRequest, sessionId: string): SessionKey {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(sessionId)) throw noSuchSession(sessionId);
  return { tenantId: principal.tenantId, sessionId };
}

export function noSuchSession(id: string): AppError {
  return new AppError('not_found', `There is no session ${JSON.stringify(id)}.`);
}
