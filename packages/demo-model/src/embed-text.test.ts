import { expect, test } from 'vitest';
import { embedText } from './embed-text.ts';

const dot = (one: number[], other: number[]) => one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);

test.each(['The user likes green tea.', '用户喜欢喝绿茶', '茶', '…', 'x'.repeat(10_000)])(
  'a unit vector: %.20s',
  (text) => {
    expect(dot(embedText(text), embedText(text))).toBeCloseTo(1, 10);
  },
);

test('texts that share words are nearer than texts that do not, in English and Chinese', () => {
  const tea = embedText('The user likes green tea');
  expect(dot(tea, embedText('green TEA is liked'))).toBeGreaterThan(dot(tea, embedText('It rains in Oslo')) + 0.2);
  const chinese = embedText('用户喜欢喝绿茶');
  expect(dot(chinese, embedText('他喜欢绿茶吗'))).toBeGreaterThan(dot(chinese, embedText('明天会下雨')) + 0.2);
});

test('has as many dimensions as asked for', () => {
  expect(embedText('a b c', 8)).toHaveLength(8);
});
