import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { GatewayDeps } from '../gateway-deps.ts';
import { announce, deleteLog, nudgeHolder } from './tell.ts';

/** Removes a session, then ends its streams and what runs. False if there was none. */
export async function deleteSession(deps: GatewayDeps, key: SessionKey): Promise<boolean> {
  const session = await deps.store.sessions.delete(key);
  if (session === null) return false;
  announce(deps, key, {
    type: 'cancelled',
    turnId: session.activeTurnId,
    data: { reason: 'session_deleted' },
    ts: deps.clock.now(),
  });
  nudgeHolder(deps, key);
  deleteLog(deps, key);
  return true;
}
