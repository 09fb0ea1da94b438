import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAppError } from '../domain/errors.ts';
import { decodeCursor, encodeCursor, pageOf } from './cursor.ts';

test('a cursor leads back to its key', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.string({ unit: 'grapheme' }), (time, id) => {
      expect(decodeCursor(encodeCursor([time, id]), ['number', 'string'])).toEqual([time, id]);
    }),
  );
  expect(decodeCursor(null, ['number'])).toBeNull();
});

test.each([
  ['nonsense', 'nonsense'],
  ['an empty one', ''],
  ['one of another list', encodeCursor(['a'])],
  ['a longer key', encodeCursor([1, 'a', 'b'])],
  ['a number that is none', encodeCursor([1.5, 'a'])],
  ['no array', Buffer.from('{"0":1,"1":"a","length":2}').toString('base64url')],
  ['another spelling', `${encodeCursor([1, 'a'])}=`],
])('refuses %s', (_name, cursor) => {
  let refusal: unknown;
  try {
    decodeCursor(cursor, ['number', 'string']);
  } catch (error) {
    refusal = error;
  }
  expect(isAppError(refusal, 'invalid_request') && refusal.details).toEqual({ path: 'cursor' });
});

test('the last page has no cursor', () => {
  const keyOf = (n: number) => [n];
  expect(pageOf([1, 2], 2, keyOf)).toEqual({ items: [1, 2], nextCursor: null });
  expect(pageOf([1, 2, 3], 2, keyOf)).toEqual({ items: [1, 2], nextCursor: encodeCursor([2]) });
  expect(pageOf([], 2, keyOf)).toEqual({ items: [], nextCursor: null });
});
