import { AGENT_MODES } from '@turnwire/shared/domain/agent';
import { runWalk, walk } from '@turnwire/shared/testing/session-walk';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { LEASE_MS, StoreFixture } from './fixture.ts';

export function concurrencyCases(
  make: MakeStore,
  options: { readonly walks: number; readonly leaseMs?: number },
): void {
  describe('any interleaving of clients and holders', () => {
    const given = new StoreFixture(make);

    test.each(AGENT_MODES)('keeps the invariants of a %s, and all that was accepted ends', async (mode) => {
      const property = fc.asyncProperty(walk(60), async (batches) => {
        const key = await given.session();
        const { sessions, turns } = given.store;
        const read = async (turnIds: readonly string[]) => given.snapshot(key, turnIds);
        const subject = { key, clients: sessions, turns, read, advance: (ms: number) => given.advance(ms) };
        await runWalk(subject, batches, { mode, leaseMs: options.leaseMs ?? LEASE_MS });
      });
      await fc.assert(property, { numRuns: options.walks });
    });
  });
}
