import { tokenOf } from '@turnwire/shared/domain/event';
import type { Session } from '@turnwire/shared/domain/session';
import { ProtocolError } from '../plugins/problem.ts';
import type { KnownEnd } from './catch-up.ts';
import type { StreamView } from './client-stream.ts';

/** What a client says it has: `Last-Event-ID`, else `after`. Null: it wants what comes from now on. Throws on junk. */
export function cursorOf(lastEventId: string | undefined, after: string | undefined): number | null {
  const given = lastEventId || after;
  if (given === undefined || given === '') return null;
  const cursor = /^(-1|\d{1,16})$/.test(given) ? Number(given) : Number.NaN;
  if (!Number.isSafeInteger(cursor)) {
    const name = lastEventId ? 'Last-Event-ID' : 'after';
    throw new ProtocolError(400, `${name} is the id of an event, or 0 or -1 for all that is in the log.`);
  }
  return Math.max(0, cursor);
}

/** Where a session's stream begins for a client with this cursor. */
export function viewFrom(session: Session, cursor: number | null, turnId: string | null): StreamView {
  const isFresh = cursor === null || isBeyond(session, cursor);
  return { turnId, endsWithTurn: false, cursor: isFresh ? publishedId(session) : cursor, fresh: isFresh };
}

/**
 * Whether the session cannot have given this id: then nothing is known of what the client has. By its token alone: the
 * log is ahead of the commits by the deltas of a step, also those of a holder that has let go in the middle of it.
 */
function isBeyond({ lease }: Session, cursor: number): boolean {
  return tokenOf(cursor) > lease.token;
}

/** How much of the log must be there by now. Events that a commit left in the outbox may not be. */
export function knownTail({ outbox, lastEventId }: Session): KnownEnd['tail'] {
  return outbox.some(({ id }) => id !== null) ? null : lastEventId;
}

/** Every event that nobody was told of yet has a greater id. */
function publishedId({ outbox, lastEventId }: Session): number {
  const unsaid = outbox.find(({ id }) => id !== null)?.id ?? null;
  return unsaid === null ? lastEventId : unsaid - 1;
}
