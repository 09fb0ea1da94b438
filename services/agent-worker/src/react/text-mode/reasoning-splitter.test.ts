import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReasoningSplitter, MAX_HELD_REASONING, type SplitPiece } from './reasoning-splitter.ts';

function split(...chunks: readonly string[]) {
  const splitter = createReasoningSplitter();
  return joined([...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()]);
}

function joined(pieces: readonly SplitPiece[]) {
  const of = (wanted: SplitPiece['type']) => pieces.map(({ type, text }) => (type === wanted ? text : '')).join('');
  return { reasoning: of('reasoning'), text: of('text') };
}

const CASES: readonly [string, string, string, string][] = [
  ['none', 'Hello, <b>.\n', '', 'Hello, <b>.\n'],
  ['nothing at all', '', '', ''],
  ['before the text', '<think>\nLet me see.\n\nSo.\n</think>\n\nYes. \n', 'Let me see.\n\nSo.', 'Yes. \n'],
  ['after white space', ' \n<think>a</think>b', 'a', 'b'],
  ['without anything in it', '<think>\n\n</think>\n\nYes.', '', 'Yes.'],
  ['without text after it', '<think>a</think>\n', 'a', ''],
  ['that is not closed', '<think>a < b </thin', 'a < b </thin', ''],
  [
    'with tags in it',
    '<think>a <think> <tool_call>{}</tool_call></think>b',
    'a <think> <tool_call>{}</tool_call>',
    'b',
  ],
  ['that closes once', '<think>a</think>b</think>', 'a', 'b</think>'],
  ['after text', 'a <think>b</think>', '', 'a <think>b</think>'],
  ['twice', '<think>a</think><think>b</think>', 'a', '<think>b</think>'],
  ['in other tags', '<thinking>a</thinking>', '', '<thinking>a</thinking>'],
  ['that only begins to be', ' <thin', '', ' <thin'],
  ['after a lot of white space', `${' '.repeat(17)}<think>a`, '', `${' '.repeat(17)}<think>a`],
  ['white space alone', ' \n', '', ' \n'],
  ['emoji', '<think>🚀</think>👩‍🚀', '🚀', '👩‍🚀'],
];

describe('reasoning', () => {
  test.each(CASES)('%s', (_, reply, reasoning, text) => {
    expect(split(reply)).toEqual({ reasoning, text });
  });

  test.each(CASES)('%s: the same however it is cut', (_, reply, reasoning, text) => {
    expect(split(...reply.split(''))).toEqual({ reasoning, text });
    for (let at = 0; at <= reply.length; at += 1) {
      expect(split(reply.slice(0, at), reply.slice(at))).toEqual({ reasoning, text });
    }
  });

  test('comes at once, and so does the text after it', () => {
    const splitter = createReasoningSplitter();
    const sent = ['<thi', 'nk>One', ' two', ' <', 'b> \n', '</', 'think>\n', '\n', 'Three ', 'four'];
    expect(sent.map((chunk) => joined(splitter.push(chunk)))).toEqual([
      { reasoning: '', text: '' },
      { reasoning: 'One', text: '' },
      { reasoning: ' two', text: '' },
      { reasoning: '', text: '' },
      { reasoning: ' <b>', text: '' },
      { reasoning: '', text: '' },
      { reasoning: '', text: '' },
      { reasoning: '', text: '' },
      { reasoning: '', text: 'Three ' },
      { reasoning: '', text: 'four' },
    ]);
  });

  test('does not hold back a lot of white space', () => {
    const text = `${' '.repeat(40)}<th`;
    expect(joined(createReasoningSplitter().push(text)).text).toBe(text);
  });

  test('is in no text without the tag, which passes byte for byte and is hardly held back', () => {
    const marks = fc.constantFrom('<', '</', 'think', '>', 'thi', ' ', '\n', 'a', '\u{1F680}', '\uD83D');
    const chunks = fc.array(fc.array(marks, { maxLength: 4 }).map((parts) => parts.join('')));
    fc.assert(
      fc.property(
        chunks.filter((parts) => !parts.join('').trimStart().startsWith('<think>')),
        (parts) => {
          const splitter = createReasoningSplitter();
          let [sent, shown] = ['', ''];
          for (const part of parts) {
            sent += part;
            shown += joined(splitter.push(part)).text;
            expect(sent.startsWith(shown)).toBe(true);
            expect(sent.length - shown.length).toBeLessThanOrEqual(MAX_HELD_REASONING);
          }
          expect({ reasoning: '', text: shown + joined(splitter.end()).text }).toEqual(split(...parts));
          expect(split(...parts).text).toBe(parts.join(''));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
