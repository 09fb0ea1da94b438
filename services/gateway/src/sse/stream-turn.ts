import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDeps } from '../gateway-deps.ts';
import { type EventStreams, NOTHING_KNOWN } from './event-streams.ts';
import { knownEndOf } from './known-end.ts';

/** What was stored, and is now to be followed. */
export interface TurnStart {
  readonly turnId: string;
  /** The events to show have greater ids. */
  readonly cursor: number;
  readonly replayed: boolean;
  /** Frames to begin with. */
  readonly preface: string;
}

/**
 * Answers with one turn's events, up to its terminal or `interrupt` event. Joins the session's stream before `begin`
 * stores anything, so that no event is missed and the log need not be read. Only a replay reads it.
 *
 * Where `begin` throws or has nothing to follow (null), nothing was answered.
 */
export async function streamTurn(
  deps: GatewayDeps,
  streams: EventStreams,
  key: SessionKey,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  begin: () => Promise<TurnStart | null>,
): Promise<void> {
  const seat = await streams.join(key);
  try {
    const start = await begin();
    if (start === null) return seat.leave();
    const { turnId, cursor, replayed, preface } = start;
    const known = replayed ? await knownEndOf(deps.store, key, turnId) : NOTHING_KNOWN;
    const headers = { 'x-request-id': request.id, ...(replayed ? { 'idempotency-replayed': 'true' } : {}) };
    reply.hijack();
    seat.open(reply.raw, { view: { turnId, endsWithTurn: true, cursor, fresh: !replayed }, headers, preface, known });
  } catch (error) {
    seat.leave();
    throw error;
  }
}
