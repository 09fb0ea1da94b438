import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Memory } from '../domain/memory.ts';
import { exampleMemory } from './example-memory.ts';
import { scoreMemories } from './score-memories.ts';
import { searchMemories } from './search-memories.ts';

function memory(id: string, text: string, keywords: readonly string[] = []): Memory {
  return exampleMemory(id, text, { keywords });
}

const memories = [
  memory('home', 'The user lives in Berlin.', ['home', 'city']),
  memory('work', 'The user works as a nurse.', ['job', 'hospital']),
  memory('tea', 'The user likes green tea.', ['drink']),
  memory('dog', 'The user has a dog named Rex.', ['pet']),
  memory('家', '用户住在杭州西湖边。', ['居住地']),
  memory('菜', '用户不吃辣。', ['饮食']),
];

describe('search', () => {
  test.each([
    ['where am I living?', ['home']],
    ['what is my job', ['work']],
    ['which teas did I like', ['tea']],
    ['pets', ['dog']],
    ['我住哪里', ['家']],
    ['杭州', ['家']],
    ['饮食有什么忌口', ['菜']],
    ['BERLIN', ['home']],
    ['the weather', []],
    ['', []],
  ])('%j', (query, expected) => {
    expect(searchMemories(memories, query, 10).map(({ id }) => id)).toEqual(expected);
  });

  test('a word of the text is worth more than a keyword', () => {
    const found = searchMemories([memory('b', 'Something else.', ['rust']), memory('a', 'Learns Rust.')], 'rust', 10);
    expect(found.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('a rare word is worth more than a frequent one', () => {
    const many = [1, 2, 3, 4].map((n) => memory(`tea${n}`, `Tea of kind ${n}.`));
    const found = searchMemories([...many, memory('matcha', 'Matcha powder.')], 'tea or matcha', 1);
    expect(found.map(({ id }) => id)).toEqual(['matcha']);
  });

  test('a short memory about it comes before a long one that mentions it', () => {
    const long = memory('long', `Rex ${'went far away with many others to places '.repeat(5)}`);
    expect(searchMemories([long, memory('short', 'Rex barks.')], 'Rex', 1).map(({ id }) => id)).toEqual(['short']);
  });

  test('keeps to the limit, and to the order given among equals', () => {
    const same = ['1', '2', '3'].map((id) => memory(id, 'Green tea.'));
    expect(searchMemories(same, 'tea', 2).map(({ id }) => id)).toEqual(['1', '2']);
  });
});

test('BM25 with k1 0.6 and b 0.5, worked out by hand', () => {
  const [best, rest] = scoreMemories([memory('a', 'tea tea milk'), memory('b', 'milk', ['tea'])], 'tea');
  const rarity = Math.log(1 + 0.5 / 2.5);
  const inText = (2 * 1.6) / (2 + 0.6 * (0.5 + 0.5 * (3 / 2)));
  const inKeywords = (1 * 1.6) / (1 + 0.6 * (0.5 + 0.5 * (1 / 0.5)));
  expect(best?.memory.id).toBe('a');
  expect(best?.score).toBeCloseTo(rarity * inText, 10);
  expect(rest?.score).toBeCloseTo(rarity * 0.6 * inKeywords, 10);
});

test('any text finds itself, whatever is in it', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1, maxLength: 8 }), (texts) => {
      const all = texts.map((text, index) => memory(String(index), text));
      const scored = scoreMemories(all, texts[0] ?? '');
      expect(scored).toHaveLength(all.length);
      for (const { score } of scored) expect(Number.isFinite(score) && score >= 0).toBe(true);
      const own = scored.find(({ memory: { id } }) => id === '0');
      const best = Math.max(...scored.map(({ score }) => score));
      if (best > 0) expect(own?.score).toBeGreaterThan(0);
    }),
  );
});
