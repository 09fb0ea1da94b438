import type { Claim } from '@turnwire/shared/domain/decide-claim';
import { isAppError } from '@turnwire/shared/domain/errors';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { TurnJournal } from './events/turn-journal.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

export interface LeaseKeeper {
  /** From now on, what others put into the outbox is published through this journal. */
  adoptOutboxThrough(journal: TurnJournal): void;
  close(): void;
}

/**
 * Renews a lease three times within its length, and at once when somebody nudges. Tells when a cancel is stored, or
 * when the lease is lost: taken by another, its session gone, or not renewed within its length.
 */
export function keepLease(
  worker: WorkerDependencies,
  key: SessionKey,
  { lease, turn }: Claim,
  log: Logger,
  stop: (reason: 'cancelled' | 'lease_lost') => void,
): LeaseKeeper {
  const { store, bus, clock, options } = worker;
  let journal: TurnJournal | null = null;
  let renewedAt = clock.now();
  let renewing = false;
  let again = false;
  let adopting = false;
  let closed = false;

  async function renew(): Promise<void> {
    const startedAt = clock.now();
    try {
      const renewal = await store.turns.renew(key, { token: lease.token, leaseMs: options.leaseMs });
      renewedAt = startedAt;
      if (closed) return;
      if (renewal.cancel !== null) stop('cancelled');
      // Not awaited: it waits for the log, and a log that is away must not cost the lease.
      if (renewal.outboxWaits && journal !== null) void adoptOutbox(journal);
    } catch (error) {
      if (closed) return;
      if (isAppError(error, 'lease_lost')) return stop('lease_lost');
      log.warn({ err: error }, 'The lease could not be renewed; trying again.');
    }
    stopIfOverdue();
  }

  function stopIfOverdue(): void {
    if (clock.now() - renewedAt >= options.leaseMs) stop('lease_lost');
  }

  async function adoptOutbox(into: TurnJournal): Promise<void> {
    if (adopting) return;
    adopting = true;
    try {
      await into.commit(async (write) => ({ outbox: await store.turns.adoptOutbox(key, { write }) }));
    } catch (error) {
      if (!closed) log.warn({ err: error }, 'The outbox could not be published; the next holder will do it.');
    } finally {
      adopting = false;
    }
  }

  async function look(): Promise<void> {
    if (closed) return;
    if (renewing) {
      again = true;
      // The store may be so far away that it does not even fail.
      return stopIfOverdue();
    }
    renewing = true;
    await renew();
    renewing = false;
    if (!again) return;
    again = false;
    await look();
  }

  const stopTimer = clock.every(options.leaseMs / 3, () => void look());
  const nudges = bus.onNudge(key, () => void look());
  // A cancel may have come between the claim and this line. A new turn sees it in the answer to its first write.
  if (turn !== null && turn.checkpoint !== null) void look();
  return {
    adoptOutboxThrough(opened) {
      journal = opened;
    },
    close() {
      closed = true;
      stopTimer();
      nudges.close();
    },
  };
}
