import type { AcceptedTurn, AcceptTurn } from '@turnwire/shared/domain/decide-accept';
import type { Announcement } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { IdempotencyKey, Replayable } from '@turnwire/shared/ports/session-store';
import type { GatewayDeps } from '../gateway-deps.ts';
import { announce, nudgeHolder, wakeWorker } from './tell.ts';

/** Stores a new turn, then tells watchers, holder and workers of it. */
export async function acceptTurn(
  deps: GatewayDeps,
  key: SessionKey,
  command: AcceptTurn,
  idempotency: IdempotencyKey | null,
  traceparent?: string,
): Promise<Replayable<AcceptedTurn>> {
  const accepted = await deps.store.sessions.acceptTurn(key, command, idempotency);
  if (accepted.replayed) return accepted;
  announce(deps, key, queuedAnnouncement(accepted.value));
  if (command.onBusy === 'interrupt' || command.onBusy === 'rollback') nudgeHolder(deps, key);
  wakeWorker(deps, key, accepted.value.turn.id, traceparent);
  return accepted;
}

export function queuedAnnouncement({ turn, position }: AcceptedTurn): Announcement {
  return { type: 'turn.queued', turnId: turn.id, data: { position }, ts: turn.createdAt };
}
