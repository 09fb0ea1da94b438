import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { acceptanceCases } from './acceptance-cases.ts';
import { concurrencyCases } from './concurrency-cases.ts';
import { configCases } from './config-cases.ts';
import { dueCases } from './due-cases.ts';
import { finishCases } from './finish-cases.ts';
import { refusal, StoreFixture } from './fixture.ts';
import { idempotencyCases } from './idempotency-cases.ts';
import { interruptCases } from './interrupt-cases.ts';
import { leaseCases } from './lease-cases.ts';
import { memoryCases } from './memory-cases.ts';
import { outboxCases } from './outbox-cases.ts';
import { progressCases } from './progress-cases.ts';
import { sessionCases } from './session-cases.ts';
import { tenantCases } from './tenant-cases.ts';

export interface StoreContractOptions {
  /** Whether the harness can let a day pass. Not where the clock is a server's own. */
  readonly longWaits: boolean;
  /** Random walks of the concurrency property. */
  readonly walks: number;
  /** Lease time in those walks: short where time has to be waited for. */
  readonly walkLeaseMs?: number;
}

/** What every adapter of the Store port has to do. */
export function storeContract(name: string, make: MakeStore, options: StoreContractOptions): void {
  describe(`Store: ${name}`, () => {
    sessionCases(make);
    acceptanceCases(make);
    idempotencyCases(make, options);
    leaseCases(make);
    progressCases(make);
    interruptCases(make);
    finishCases(make);
    outboxCases(make);
    dueCases(make);
    configCases(make);
    memoryCases(make);
    tenantCases(make);
    concurrencyCases(make, { walks: options.walks, ...(options.walkLeaseMs && { leaseMs: options.walkLeaseMs }) });
    closingCases(make);
  });
}

function closingCases(make: MakeStore): void {
  describe('a closed store', () => {
    const given = new StoreFixture(make);

    test('is unavailable, and may be closed again', async () => {
      const key = await given.session();
      await given.store.ping();
      await given.store.close();
      await given.store.close();
      for (const call of [given.store.ping(), given.read(key), given.accept(key), given.store.turns.takeDue(1, 1)]) {
        expect((await refusal(call, 'unavailable')).retry).toBe(true);
      }
    });
  });
}
