import { describe, expect, test } from 'vitest';
import { estimateTokens } from './estimate-tokens.ts';
import { normaliseText, termsOf, wordsOf } from './tokenise.ts';

describe('terms', () => {
  test.each([
    ['forms of a verb meet', 'like likes liked liking', ['lik', 'lik', 'lik', 'lik']],
    ['doubled consonants', 'run runs running, stop stopped', ['run', 'run', 'run', 'stop', 'stop']],
    [
      'plurals',
      'city cities box boxes dress dresses house houses',
      'city city box box dress dress hous hous'.split(' '),
    ],
    ['what only looks like an ending', 'bus class sing need Paris this', ['bus', 'class', 'sing', 'need', 'paris']],
    ['the possessive and short forms', "the user's dog, I'm back, she’ll come", ['dog', 'back', 'com']],
    ['a negation is not lost', "don't", ["don't"]],
    ['digits apart from letters', 'gpt4 at 3pm in 2025', ['gpt', '4', '3', 'pm', '2025']],
    ['full width', 'ＡＣＭＥ　１２', ['acm', '12']],
    ['accents', 'Café Zürich', ['café', 'zürich']],
    ['Chinese: characters and pairs', '杭州西湖', ['杭', '杭州', '州', '州西', '西', '西湖', '湖']],
    ['Chinese stop characters, alone and in pairs', '我的名字是什么', ['的名', '名', '名字', '字', '字是']],
    ['Chinese beside Latin', '喜欢React框架', ['喜', '喜欢', '欢', 'react', '框', '框架', '架']],
    ['Japanese and Korean', 'コーヒー 서울', ['コ', 'コー', 'ー', 'ーヒ', 'ヒ', 'ヒー', 'ー', '서', '서울', '울']],
    ['nothing to find by', '?! … 🙂', []],
  ])('%s', (_, text, expected) => {
    expect(termsOf(text)).toEqual(expected);
  });
});

test('words keep stop words, order and single characters', () => {
  expect(wordsOf('The user lives in 杭州')).toEqual(['the', 'user', 'liv', 'in', '杭', '州']);
});

test('normalising evens out width, case, apostrophes and white space', () => {
  expect(normaliseText('  Ｉ’ｍ\n\tFINE ')).toBe("i'm fine");
});

test.each([
  ['', 0],
  ['four', 1],
  ['The user lives in Berlin.', 7],
  ['用户住在杭州', 6],
])('tokens of %j: about %i', (text, expected) => {
  expect(estimateTokens(text)).toBe(expected);
});
