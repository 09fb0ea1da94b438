import type { Claim } from '@turnwire/shared/domain/decide-claim';
import type { Renewal } from '@turnwire/shared/domain/decide-lease';
import { leaseLost, unavailable } from '@turnwire/shared/domain/errors';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { Store } from '@turnwire/shared/ports/store';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { describe, expect, test } from 'vitest';
import { keepLease } from './keep-lease.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

const LEASE_MS = 9_000;
const KEY = { tenantId: 'acme', sessionId: 'ses_1' };
const KEPT: Renewal = { expiresAt: 0, cancel: null, outboxWaits: false };
const CANCELLED: Renewal = { ...KEPT, cancel: { reason: 'requested', requestedAt: 0 } };

/** A keeper whose renewals the test answers. `taken up`: the turn has a checkpoint already. */
function keep(renew: (count: number) => Promise<Renewal>, isTakenUp = false) {
  const clock = createManualClock(0);
  const stops: string[] = [];
  let renewals = 0;
  let nudge = (): void => undefined;
  const turns = {
    renew: () => {
      renewals += 1;
      return renew(renewals);
    },
  } as Partial<Store['turns']>;
  const bus: Partial<EventBus> = {
    onNudge: (_, listener) => {
      nudge = listener;
      return { close: () => undefined };
    },
  };
  const parts = { store: { turns }, bus, clock, options: { leaseMs: LEASE_MS } } as unknown as WorkerDependencies;
  const claim = { lease: { token: 1 }, turn: { checkpoint: isTakenUp ? {} : null } };
  const log = createRecordingLogger();
  const keeper = keepLease(parts, KEY, claim as Claim, log, (reason) => stops.push(reason));
  return { clock, keeper, stops, nudge: () => nudge(), renewals: () => renewals };
}

describe('a lease', () => {
  test('is renewed three times within its length, until it is given back', async () => {
    const { clock, keeper, stops, renewals } = keep(async () => KEPT);
    await clock.advance(LEASE_MS);
    expect(renewals()).toBe(3);
    keeper.close();
    await clock.advance(10 * LEASE_MS);
    expect(renewals()).toBe(3);
    expect(stops).toEqual([]);
  });

  test('of a turn that is taken up is renewed at once: a cancel may have come since the claim', async () => {
    const { clock, stops } = keep(async () => CANCELLED, true);
    await clock.advance(0);
    expect(stops).toEqual(['cancelled']);
  });

  test('is renewed again for a nudge that comes in the middle of a renewal', async () => {
    const answer = Promise.withResolvers<Renewal>();
    const { clock, nudge, stops, renewals } = keep((count) =>
      count === 1 ? answer.promise : Promise.resolve(CANCELLED),
    );
    nudge();
    nudge();
    nudge();
    answer.resolve(KEPT);
    await clock.advance(0);
    expect(renewals()).toBe(2);
    expect(stops).toEqual(['cancelled']);
  });

  test('is lost when another has it', async () => {
    const { clock, stops } = keep(() => Promise.reject(leaseLost('ses_1', 1)));
    await clock.advance(LEASE_MS / 3);
    expect(stops).toEqual(['lease_lost']);
  });

  test('is lost when the store was away for its whole length, and no sooner', async () => {
    const { clock, stops } = keep((count) =>
      count === 1 ? Promise.resolve(KEPT) : Promise.reject(unavailable('The store', null)),
    );
    await clock.advance(LEASE_MS / 3 + LEASE_MS - 1);
    expect(stops).toEqual([]);
    await clock.advance(1);
    expect(stops[0]).toBe('lease_lost');
  });

  test('is lost when the store does not even answer', async () => {
    const { clock, stops } = keep(() => new Promise(() => undefined));
    await clock.advance(LEASE_MS - 1);
    expect(stops).toEqual([]);
    await clock.advance(1);
    expect(stops[0]).toBe('lease_lost');
  });

  test('that was given back tells nothing any more', async () => {
    const answer = Promise.withResolvers<Renewal>();
    const { clock, keeper, stops } = keep(() => answer.promise);
    await clock.advance(LEASE_MS / 3);
    keeper.close();
    answer.reject(leaseLost('ses_1', 1));
    await clock.advance(10 * LEASE_MS);
    expect(stops).toEqual([]);
  });
});
