import type { Cancellation } from '@turnwire/shared/domain/decide-cancel';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { IdempotencyKey, Replayable } from '@turnwire/shared/ports/session-store';
import type { GatewayDeps } from '../gateway-deps.ts';
import { nudgeHolder, wakeWorker } from './tell.ts';

/**
 * Stores a cancel, then signals it: to the holder, and, since there may be none (a turn that waits or is queued), to a
 * worker. A repeated cancel signals again: the first signal may have been lost.
 */
export async function cancelTurn(
  deps: GatewayDeps,
  key: SessionKey,
  turnId: string | null,
  idempotency: IdempotencyKey | null,
): Promise<Replayable<Cancellation>> {
  const cancellation = await deps.store.sessions.cancelTurn(key, { turnId }, idempotency);
  const { turn } = cancellation.value;
  if (turn !== null) {
    nudgeHolder(deps, key);
    wakeWorker(deps, key, turn.id);
  }
  return cancellation;
}
