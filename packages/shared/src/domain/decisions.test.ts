import fc from 'fast-check';
import { describe, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { createMemorySession } from '../testing/memory-session.ts';
import { runWalk, walk } from '../testing/session-walk.ts';
import { AGENT_MODES } from './agent.ts';

const LEASE_MS = 10_000;

describe('any interleaving of clients and holders', () => {
  test.each(AGENT_MODES)('keeps the invariants of a %s', async (mode) => {
    await fc.assert(
      fc.asyncProperty(walk(60), async (batches) => {
        const clock = createManualClock(1_000_000);
        const key = { tenantId: 'acme', sessionId: 'ses_1' };
        const input = { ...key, id: key.sessionId, userId: 'ann', agentId: 'support', metadata: {} };
        const session = createMemorySession(input, clock);
        const subject = {
          key,
          clients: session,
          turns: session.turns,
          read: async () => session.read(),
          advance: clock.advance,
        };
        await runWalk(subject, batches, { mode, leaseMs: LEASE_MS });
      }),
      { numRuns: 150 },
    );
  });
});
