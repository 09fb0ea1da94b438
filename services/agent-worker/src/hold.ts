import type { Claim } from '@turnwire/shared/domain/decide-claim';
import { isAppError } from '@turnwire/shared/domain/errors';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventWriter } from '@turnwire/shared/ports/event-bus';
import type { Logger } from '@turnwire/shared/ports/logger';
import { createTurnJournal, type TurnJournal } from './events/turn-journal.ts';
import { keepLease } from './keep-lease.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/** Why a holder stops in the middle. */
export type StopReason = 'cancelled' | 'timeout' | 'shutdown' | 'lease_lost';

/** The time under one lease: everything that a turn does, it does through here. */
export interface Hold {
  readonly key: SessionKey;
  readonly journal: TurnJournal;
  /** Aborts when the work has to stop; `stopReason` says why. */
  readonly signal: AbortSignal;
  readonly stopReason: StopReason | null;
  stop(reason: StopReason): void;
  /** Gives the lease back. True: there is more to do at once. Never throws: a lease also runs out. */
  letGo(): Promise<boolean>;
  /** Ends the hold without giving the lease back: it runs out, and the next claim counts as an attempt. */
  drop(): void;
}

/**
 * Starts the heartbeat of a claim, opens the session's log and publishes what the outbox has. Null when the lease was
 * lost before the log could be opened.
 */
export async function takeHold(
  worker: WorkerDependencies,
  key: SessionKey,
  claim: Claim,
  log: Logger,
): Promise<Hold | null> {
  const { token } = claim.lease;
  const controller = new AbortController();
  // Away servers are waited for until the lease is lost, not until a mere cancel: that one still has to be stored.
  const lost = new AbortController();
  let stopReason: StopReason | null = null;
  function stop(reason: StopReason): void {
    if (reason === 'lease_lost') lost.abort();
    else if (stopReason !== null) return;
    stopReason = reason;
    controller.abort(new Error(`The work was stopped: ${reason}.`));
  }
  const lease = keepLease(worker, key, claim, log, stop);
  const writer = await openWriter(worker, key, token, lost.signal).catch((error: unknown) => {
    lease.close();
    if (isAppError(error, 'lease_lost') || lost.signal.aborted) return null;
    throw error;
  });
  if (writer === null) return null;
  const journal = createTurnJournal({
    token,
    writer,
    clock: worker.clock,
    signal: lost.signal,
    onLost: () => stop('lease_lost'),
    onEvent: (type) => worker.metrics.eventsWritten(type, 1),
  });
  journal.publish(claim.outbox);
  lease.adoptOutboxThrough(journal);
  function drop(): void {
    lease.close();
    writer?.close();
  }
  return {
    key,
    journal,
    signal: controller.signal,
    get stopReason() {
      return stopReason;
    },
    stop,
    drop,
    async letGo() {
      const wake = await release(worker, key, token, journal, log);
      drop();
      return wake;
    },
  };
}

async function openWriter(
  { bus, clock }: WorkerDependencies,
  key: SessionKey,
  token: number,
  lost: AbortSignal,
): Promise<EventWriter> {
  for (;;) {
    try {
      return await bus.openWriter(key, token);
    } catch (error) {
      if (!isAppError(error, 'unavailable') || lost.aborted) throw error;
      await clock.sleep(250, lost);
    }
  }
}

async function release(
  { store }: WorkerDependencies,
  key: SessionKey,
  token: number,
  journal: TurnJournal,
  log: Logger,
): Promise<boolean> {
  try {
    const { wake } = await journal.commit(async (write) => {
      const released = await store.turns.release(key, { write });
      return { ...released, outbox: [] };
    });
    return wake;
  } catch (error) {
    if (isAppError(error, 'lease_lost'))
      log.info({ token }, 'The lease was lost already: another has it, or the session was deleted.');
    else log.warn({ token, err: error }, 'The lease could not be given back; it will run out.');
    return false;
  }
}
