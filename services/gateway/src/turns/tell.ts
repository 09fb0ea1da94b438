import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { GatewayDeps } from '../gateway-deps.ts';

type Signals = Pick<GatewayDeps, 'queue' | 'bus' | 'log'>;

interface News {
  readonly what: string;
  /** What makes up for it where it fails. */
  readonly remedy: string;
}

/**
 * What follows a commit is a wake-up or news, and the store has the truth already: so nothing of it may fail the call
 * that was accepted, nor delay its answer.
 */
function tell(
  log: GatewayDeps['log'],
  key: SessionKey,
  { what, remedy }: News,
  send: () => void | Promise<void>,
): void {
  (async () => send())().catch((error: unknown) => log.warn({ ...key, err: error }, `${what} failed; ${remedy}.`));
}

/** Wakes a worker for the session. */
export function wakeWorker(
  { queue, log }: Signals,
  key: SessionKey,
  turnId: string | null,
  traceparent?: string,
): void {
  tell(log, key, { what: 'Waking a worker', remedy: 'the sweeper does it' }, () =>
    queue.enqueue({ kind: 'turn', ...key, turnId, ...(traceparent !== undefined && { traceparent }) }),
  );
}

/** Tells the session's holder, if there is one, to look into the store. */
export function nudgeHolder({ bus, log }: Signals, key: SessionKey): void {
  tell(log, key, { what: 'Telling the holder', remedy: 'its next heartbeat looks into the store' }, () =>
    bus.nudge(key),
  );
}

/** Tells those who watch the session. */
export function announce(
  { bus, log }: Signals,
  key: SessionKey,
  announcement: Parameters<typeof bus.announce>[1],
): void {
  tell(log, key, { what: 'Telling the watchers', remedy: 'they hear of it with the next event' }, () =>
    bus.announce(key, announcement),
  );
}

/** Removes the session's log. */
export function deleteLog({ bus, log }: Signals, key: SessionKey): void {
  tell(log, key, { what: 'Removing the log', remedy: 'it goes when its events are as old as they are kept' }, () =>
    bus.delete(key),
  );
}
