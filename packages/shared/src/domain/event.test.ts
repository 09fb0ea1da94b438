import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId, isTerminalEvent, tokenOf } from './event.ts';

const token = fc.integer({ min: 1, max: 2 ** 20 });
const place = fc.integer({ min: 1, max: 2 ** 32 - 1 });

describe('event ids', () => {
  test('are exact integers that name their token', () => {
    fc.assert(
      fc.property(token, place, (t, n) => {
        expect(Number.isSafeInteger(eventId(t, n))).toBe(true);
        expect(tokenOf(eventId(t, n))).toBe(t);
      }),
    );
  });

  test('of a newer token are greater than all of an older one', () => {
    fc.assert(fc.property(token, place, place, (t, n, m) => eventId(t + 1, n) > eventId(t, m)));
  });

  test('of one token are contiguous', () => {
    expect(eventId(7, 2) - eventId(7, 1)).toBe(1);
  });
});

test('a turn ends with done, error or cancelled', () => {
  expect(['done', 'error', 'cancelled'].every(isTerminalEvent)).toBe(true);
  expect(['interrupt', 'turn.delta', 'turn.resumed', 'gap'].some(isTerminalEvent)).toBe(false);
});
