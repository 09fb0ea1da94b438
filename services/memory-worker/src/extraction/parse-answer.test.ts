import { describe, expect, test } from 'vitest';
import { parseAnswer } from './parse-answer.ts';

const item = { op: 'add', text: 'The user lives in Berlin.', quote: 'I live in Berlin' };
const answer = JSON.stringify({ memories: [item] });

describe('an answer is found', () => {
  test.each([
    ['bare', answer],
    ['pretty-printed', JSON.stringify({ memories: [item] }, null, 2)],
    ['with more around the list', JSON.stringify({ reasoning: 'none', memories: [item] })],
    ['in a fence', `\`\`\`json\n${answer}\n\`\`\``],
    ['in a fence with prose', `Here you are:\n\`\`\`\n${answer}\n\`\`\`\nDone.`],
    ['in prose', `Sure! ${answer} I hope this helps {really}.`],
    ['as a bare list', JSON.stringify([item])],
    ['after a draft', `<think>{"memories": [{"op": "add"}]} no…</think>${answer}`],
    ['with braces in strings', `So: {"memories": [${JSON.stringify({ ...item, keywords: ['}', '{"'] })}]} and }`],
  ])('%s', (_, text) => {
    const { proposed, malformed } = parseAnswer(text);
    expect(malformed).toBe(0);
    expect(proposed.map(({ text: said, quote }) => [said, quote])).toEqual([[item.text, item.quote]]);
  });

  test('empty', () => {
    expect(parseAnswer('{"memories": []}')).toEqual({ proposed: [], malformed: 0 });
  });
});

test('what is left out has a value, and texts are trimmed', () => {
  expect(
    parseAnswer(JSON.stringify({ memories: [{ op: 'add', text: ' A. ', quote: ' a ', slot: '' }] })).proposed,
  ).toEqual([
    {
      op: 'add',
      targetRef: null,
      text: 'A.',
      quote: 'a',
      kind: null,
      subject: null,
      slot: null,
      value: null,
      cardinality: 'many',
      keywords: [],
      eventTime: null,
    },
  ]);
});

test.each([
  ['targetRef', '2', 2],
  ['targetRef', null, null],
  ['value', 42, '42'],
  ['value', true, 'true'],
  ['eventTime', '2025-06', '2025-06'],
  ['eventTime', '2025-06-01T10:00:00Z', '2025-06-01T10:00:00Z'],
  ['eventTime', 'next week', null],
  ['cardinality', null, 'many'],
  ['keywords', null, []],
] as const)('%s %j is read as %j', (field, given, read) => {
  const [proposed] = parseAnswer(JSON.stringify({ memories: [{ ...item, [field]: given }] })).proposed;
  expect(proposed?.[field]).toEqual(read);
});

test.each([
  ['no operation', { ...item, op: undefined }],
  ['another operation', { ...item, op: 'merge' }],
  ['no quote', { ...item, quote: undefined }],
  ['a quote that is no text', { ...item, quote: 7 }],
  ['a reference that is none', { ...item, targetRef: 'mem_1' }],
  ['no object', 'The user lives in Berlin.'],
])('an item with %s is left out and counted', (_, broken) => {
  const { proposed, malformed } = parseAnswer(JSON.stringify({ memories: [broken, item] }));
  expect([proposed.length, malformed]).toEqual([1, 1]);
});

test.each([
  '',
  'I found nothing to note.',
  '{"memories": [',
  '{"facts": []}',
  '{"memories": "none"}',
  '42',
  `{"memories": [`.repeat(5000),
])('junk is no answer: %#', (text) => {
  expect(() => parseAnswer(text)).toThrow(expect.objectContaining({ code: 'model_error', retry: true }));
});
