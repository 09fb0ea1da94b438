import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { GatewayDeps } from '../gateway-deps.ts';

type Signals = Pick<GatewayDeps, 'queue' | 'bus' | 'log'>;

/**
 * What follows a commit is a wake-up or news, and the store has the truth already: so nothing of it may fail the call
 * that was accepted, nor delay its answer. What a failure leaves undone, the sweeper and the next heartbeat repair.
 */
function tell(log: GatewayDeps['log'], key: SessionKey, what: string, send: () => void | Promise<void>): void {
  (async () => send())().catch((error: unknown) =>
    log.warn({ ...key, error }, `${what} failed; it is made up for later`),
  );
}

/** Wakes a worker for the session. */
export function wakeWorker({ queue, log }: Signals, key: SessionKey, turnId: string | null): void {
  tell(log, key, 'waking a worker', () => queue.enqueue({ kind: 'turn', ...key, turnId }));
}

/** Tells the session's holder, if there is one, to look into the store. */
export function nudgeHolder({ bus, log }: Signals, key: SessionKey): void {
  tell(log, key, 'telling the holder', () => bus.nudge(key));
}

/** Tells those who watch the session. */
export function announce(
  { bus, log }: Signals,
  key: SessionKey,
  announcement: Parameters<typeof bus.announce>[1],
): void {
  tell(log, key, 'telling the watchers', () => bus.announce(key, announcement));
}

/** Removes the session's log. */
export function deleteLog({ bus, log }: Signals, key: SessionKey): void {
  tell(log, key, 'removing the log', () => bus.delete(key));
}
