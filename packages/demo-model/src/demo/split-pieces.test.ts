import { expect, test } from 'vitest';
import { splitPieces } from './split-pieces.ts';

test.each([
  'Hello, big world.\n\n- one',
  '这是演示模型。',
  '用 calculator 算 2+2\uff0c好',
  '  spaced  ',
  '',
  '🦀 crab',
])('pieces of "%s" make up the text', (text) => {
  expect(splitPieces(text).join('')).toBe(text);
});

test('words, and CJK characters in pairs', () => {
  expect(splitPieces('one two\n三四五')).toEqual(['one', ' two', '\n三四', '五']);
});
