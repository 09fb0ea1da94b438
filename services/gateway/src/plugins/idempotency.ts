import { createHash } from 'node:crypto';
import type { IdempotencyKey } from '@turnwire/shared/ports/session-store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ProtocolError } from './problem.ts';

/** The caller's `Idempotency-Key` with what it stands for; null where none was given. Throws on a malformed one. */
export function idempotencyOf(request: FastifyRequest): IdempotencyKey | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new ProtocolError(400, 'An Idempotency-Key is 1 to 255 printable ASCII characters.');
  }
  return { key, fingerprint: fingerprintOf(request.method, request.url, request.body) };
}

export function markReplay(reply: FastifyReply, replayed: boolean): FastifyReply {
  return replayed ? reply.header('idempotency-replayed', 'true') : reply;
}

/** The same for every body that means the same: `body` is taken after its defaults are filled in. */
export function fingerprintOf(method: string, url: string, body: unknown): string {
  const path = url.split('?', 1)[0];
  return createHash('sha256')
    .update(`${method}\n${path}\n${canonicalJson(body)}`)
    .digest('hex');
}

/** JSON with sorted keys. No body and an empty object are the same to every route that takes both. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? {}, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
