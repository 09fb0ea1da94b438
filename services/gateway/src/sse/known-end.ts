import type { SessionKey } from '@turnwire/shared/domain/tenant';
import { isTerminalStatus } from '@turnwire/shared/domain/turn';
import type { Store } from '@turnwire/shared/ports/store';
import type { KnownEnd } from './catch-up.ts';
import { knownTail } from './stream-start.ts';

/**
 * What must be in the log by now, as far as one turn's stream goes. The turn is read before the session: an end that
 * the first knows of and that has left the outbox of the second is in the log, or was pruned from it.
 */
export async function knownEndOf(store: Store, key: SessionKey, turnId: string): Promise<KnownEnd> {
  const turn = await store.sessions.turn(key.tenantId, turnId);
  const session = await store.sessions.get(key);
  if (turn === null || session === null) return { tail: null, turnIsOver: true };
  const waits = session.interrupt?.turnId === turnId;
  const unsaid = session.outbox.some(({ event }) => event.turnId === turnId);
  return { tail: knownTail(session), turnIsOver: (isTerminalStatus(turn.status) || waits) && !unsaid };
}
