import type { ModelFailure } from '@turnwire/shared/ports/language-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelay } from './retry-delay.ts';

function failure(retryAfterMs: number | null, retry = true): ModelFailure {
  return { code: 'model_overloaded', message: 'Busy.', retry, retryAfterMs };
}

describe('the wait before another call', () => {
  test('doubles, up to a bound on the calls', () => {
    expect([1, 2, 3, 4, 5].map((n) => retryDelay(failure(null), n, 0, 1))).toEqual([500, 1000, 2000, 4000, null]);
  });

  test('is none where another call would not help', () => {
    expect(retryDelay(failure(1_000, false), 1, 0, 0)).toBeNull();
  });

  test('is spread over the upper half, so that workers do not come back in step', () => {
    expect([0, 0.5, 1].map((random) => retryDelay(failure(null), 1, 0, random))).toEqual([250, 375, 500]);
  });

  test('is as long as the provider asks for, also longer than our own bounds', () => {
    expect(retryDelay(failure(5_000), 1, 0, 0)).toBe(5_000);
    expect(retryDelay(failure(60_000), 2, 5_000, 0)).toBe(60_000);
    expect(retryDelay(failure(0), 1, 0, 0)).toBe(250);
  });

  test('is given up where it would be longer than a step may wait', () => {
    expect(retryDelay(failure(120_001), 1, 0, 0)).toBeNull();
    expect(retryDelay(failure(60_000), 2, 60_001, 0)).toBeNull();
  });

  test('is never sooner than asked, and never beyond the budget', () => {
    fc.assert(
      fc.property(
        fc.option(fc.nat(200_000)),
        fc.integer({ min: 1, max: 6 }),
        fc.nat(120_000),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retryAfterMs, failures, waitedMs, random) => {
          const delay = retryDelay(failure(retryAfterMs), failures, waitedMs, random);
          if (delay === null) return;
          expect(delay).toBeGreaterThanOrEqual(retryAfterMs ?? 250);
          expect(waitedMs + delay).toBeLessThanOrEqual(120_001);
        },
      ),
    );
  });
});
