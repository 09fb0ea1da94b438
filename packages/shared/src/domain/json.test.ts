import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJsonObject, jsonEqual } from './json.ts';

describe('jsonEqual', () => {
  test('a value equals its copy, whatever the order of the keys', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => jsonEqual(value, reversedKeys(value))));
  });

  test('agrees with the canonical text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (a, b) => {
        expect(jsonEqual(a, b)).toBe(canonical(a) === canonical(b));
      }),
    );
  });

  test.each([
    [{ a: undefined }, {}],
    [[], {}],
    [{}, []],
    [null, {}],
    [
      { a: 1, b: 2 },
      { a: 1, c: 2 },
    ],
    [
      [1, 2],
      [2, 1],
    ],
    [[1], [1, 1]],
    ['1', 1],
    [{ toString: 1 }, { a: 1 }],
  ])('%j is not %j', (a, b) => {
    expect(jsonEqual(a, b)).toBe(false);
  });
});

test('isJsonObject tells objects from arrays and null', () => {
  expect([{}, [], null, 'a', 1].map(isJsonObject)).toEqual([true, false, false, false, false]);
});

function reversedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversedKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversedKeys(inner)]),
  );
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return Object.is(value, -0) ? '-0' : JSON.stringify(value);
  const entries = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`);
  return `{${entries.sort().join()}}`;
}
