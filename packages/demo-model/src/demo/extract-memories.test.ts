import { describe, expect, test } from 'vitest';
import { extractMemories } from './extract-memories.ts';
import { readUserWords } from './user-words.ts';

describe('extractMemories', () => {
  test.each([
    [
      'Hi, my name is Ada Lovelace and I live in London.',
      ["The user's name is Ada Lovelace.", 'The user lives in London.'],
    ],
    [
      'I really like tea and scones, but I work at Acme.',
      ['The user works at Acme.', 'The user likes tea and scones.'],
    ],
    ['Call me Al!', ["The user's name is Al."]],
    ['i prefer dark mode', ['The user prefers dark mode.']],
    ['I work as a nurse in St. Mary hospital.', ['The user works as a nurse in St. Mary hospital.']],
    ['I just moved to Berlin last month.', ['The user lives in Berlin.']],
    ['My name is J.R.R. Tolkien', ["The user's name is J.R.R. Tolkien."]],
    [
      '我叫小明\uff0c我住在杭州。我喜欢喝茶和爬山\uff01我在阿里巴巴工作',
      ['用户叫小明。', '用户住在杭州。', '用户喜欢喝茶和爬山。', '用户在阿里巴巴工作。'],
    ],
    ['叫我老王吧', ['用户叫老王。']],
    ['我现在住在北京了', ['用户住在北京。']],
    ['I like tea. I like tea!', ['The user likes tea.']],
  ])('%s', (words, texts) => {
    const memories = extractMemories(words);
    expect(memories.map(({ text }) => text)).toEqual(texts);
    for (const { quote } of memories) expect(words).toContain(quote);
  });

  test.each([
    'hi',
    'Do I like tea?',
    'What is my name?',
    'If I live in Rome, what then',
    'call me back later',
    "I don't like spinach",
    'I love how this works',
    '我叫什么\uff1f',
    '你知道我喜欢什么吗',
    '我不喜欢香菜',
    '我最喜欢的颜色是蓝色',
    '',
  ])('nothing in: %s', (words) => {
    expect(extractMemories(words)).toEqual([]);
  });

  test('an item has every field of the contract', () => {
    expect(extractMemories('I live in Oslo')).toEqual([
      {
        op: 'add',
        text: 'The user lives in Oslo.',
        quote: 'I live in Oslo',
        kind: 'fact',
        subject: 'user',
        slot: 'home',
        value: 'Oslo',
        cardinality: 'one',
        keywords: ['Oslo'],
      },
    ]);
    expect(extractMemories('I like tea')).toMatchObject([{ kind: 'preference', slot: 'likes', cardinality: 'many' }]);
  });
});

describe('readUserWords', () => {
  test.each([
    ['plain text', 'I like plain text', 'I like plain text'],
    [
      'labels',
      'User: my name is Bo\nand more\nAssistant: I like tea\nUser: I live in Oslo',
      'my name is Bo\nand more\nI live in Oslo',
    ],
    ['Chinese labels', '用户\uff1a我叫小明\n助手\uff1a我叫小红', '我叫小明'],
    ['tags', '<user>I live in Oslo</user><assistant>I like you</assistant>', 'I live in Oslo'],
    [
      'messages with roles',
      '<message role="assistant">I like A</message><message role="user">I like B</message>',
      'I like B',
    ],
    [
      'JSON',
      'Turn:\n[{"role":"user","content":"I like \\"tea\\""},{"role":"assistant","content":"I like cake"}]',
      'I like "tea"',
    ],
    ['JSON in an object', '{"messages":[{"role":"user","content":"I like A"}]}', 'I like A'],
    ['JSON lines', '{"role":"user","content":"I like L1"}\n{"role":"assistant","content":"I like L2"}', 'I like L1'],
    [
      'memories that are known',
      '<existing_memories>1. my name is Old</existing_memories>\nI live in Oslo',
      'I live in Oslo',
    ],
    ['only others speaking', 'Assistant: I like cake', ''],
  ])('%s', (_name, content, words) => {
    expect(
      readUserWords([
        { role: 'system', content: 'I like rules' },
        { role: 'user', content },
      ]).trim(),
    ).toBe(words);
  });
});
