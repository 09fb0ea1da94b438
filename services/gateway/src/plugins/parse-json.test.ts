import { expect, test } from 'vitest';
import { isDeeperThan } from './parse-json.ts';

test.each([
  [1, 0, false],
  [{}, 0, true],
  [{}, 1, false],
  [{ a: 1 }, 1, false],
  [{ a: {} }, 1, true],
  [[[1]], 1, true],
  [[[1]], 2, false],
  [{ a: [], b: [{ c: [] }] }, 3, true],
  [null, 0, false],
])('%j is deeper than %i: %j', (value, levels, expected) => {
  expect(isDeeperThan(value, levels)).toBe(expected);
});

test('a value of a hundred thousand levels is found out without following it down', () => {
  expect(isDeeperThan(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 64)).toBe(true);
});
