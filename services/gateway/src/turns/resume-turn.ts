import type { SettleInterrupt, Settlement } from '@turnwire/shared/domain/decide-settle';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { IdempotencyKey, Replayable } from '@turnwire/shared/ports/session-store';
import type { GatewayDeps } from '../gateway-deps.ts';
import { wakeWorker } from './tell.ts';

/** Stores a person's decisions, and wakes a worker when the last one is made. */
export async function resumeTurn(
  deps: GatewayDeps,
  key: SessionKey,
  command: SettleInterrupt,
  idempotency: IdempotencyKey | null,
  traceparent?: string,
): Promise<Replayable<Settlement>> {
  const settlement = await deps.store.sessions.settleInterrupt(key, command, idempotency);
  if (settlement.value.settled && !settlement.replayed) wakeWorker(deps, key, settlement.value.turn.id, traceparent);
  return settlement;
}
