import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutResult } from './cut-result.ts';

describe('a result', () => {
  test('that is short is kept and shown as it is', () => {
    expect(cutResult('short')).toEqual({ kept: 'short', shown: 'short', truncated: false });
    expect(cutResult('')).toEqual({ kept: '', shown: '', truncated: false });
    const longest = 'x'.repeat(8_000);
    expect(cutResult(longest)).toEqual({ kept: longest, shown: longest, truncated: false });
  });

  test('that is longer than clients are shown is kept whole for the model', () => {
    const content = 'x'.repeat(100_000);
    expect(cutResult(content)).toEqual({ kept: content, shown: 'x'.repeat(8_000), truncated: true });
  });

  test('that is longer than a model is sent keeps its head and its tail', () => {
    const { kept } = cutResult(`${'a'.repeat(60_000)}${'m'.repeat(30_000)}${'z'.repeat(60_000)}`);
    const start = 'a'.repeat(50_000);
    expect(kept).toBe(`${start}\n[… 50000 characters left out …]\n${'z'.repeat(50_000)}`);
  });

  test('is never cut in the middle of a character', () => {
    fc.assert(
      fc.property(
        fc.nat(3),
        fc.integer({ min: 7_990, max: 8_010 }),
        fc.integer({ min: 0, max: 120_000 }),
        (odd, at, more) => {
          const content = 'x'.repeat(odd) + '🦀'.repeat(at + more);
          const { kept, shown } = cutResult(content);
          expect(kept.isWellFormed()).toBe(true);
          expect(shown.isWellFormed()).toBe(true);
          expect(content.startsWith(shown)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });
});
