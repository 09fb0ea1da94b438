import type { JsonObject } from '@turnwire/shared/domain/json';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AssembledCall, createCallAssembler } from '../assemble-calls.ts';
import { createMessageParser, MAX_HELD } from './message-parser.ts';
import type { ParsedCall, ParsedPiece } from './parsed-piece.ts';
import { toTextMode } from './tool-messages.ts';

function parse(...chunks: readonly string[]): readonly ParsedPiece[] {
  return parseAll(chunks);
}

function parseAll(chunks: readonly string[]): readonly ParsedPiece[] {
  const parser = createMessageParser();
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
}

/** Pieces as they would be if the reply had come in one. */
function merged(pieces: readonly ParsedPiece[]): readonly ParsedPiece[] {
  const result: ParsedPiece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (piece.type === 'text' && last?.type === 'text') {
      result[result.length - 1] = { type: 'text', text: last.text + piece.text };
    } else if (isFragment(piece) && last !== undefined && isFragment(last)) {
      const [name, json] = [last.name ?? piece.name, last.arguments + piece.arguments];
      result[result.length - 1] = { ...last, name, arguments: json };
    } else result.push(piece);
  }
  return result;
}

type Fragment = Extract<ParsedPiece, { partial: true }>;

function isFragment(piece: ParsedPiece): piece is Fragment {
  return piece.type === 'tool_call' && piece.partial;
}

function textOf(pieces: readonly ParsedPiece[]): string {
  return pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
}

function callsOf(pieces: readonly ParsedPiece[]): readonly ParsedCall[] {
  return pieces.flatMap((piece) => (piece.type === 'tool_call' && !piece.partial ? [piece.call] : []));
}

function call(name: string, args: JsonObject = {}, patch: Partial<ParsedCall> = {}): ParsedCall {
  return { id: null, name, arguments: args, invalid: null, repaired: null, closed: true, ...patch };
}

const invalid = (name: string, reason: string, closed = true) =>
  call(name, {}, { invalid: expect.stringContaining(reason), closed });
const repaired = (name: string, args: JsonObject, what: string, closed = true) =>
  call(name, args, { repaired: expect.stringContaining(what), closed });

const F = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>';
const G = '<tool_call>{"name":"g","arguments":{}}</tool_call>';
const f = call('f', { x: 1 });
const g = call('g');

type Case = readonly [what: string, reply: string, text: string, calls: readonly ParsedCall[]];

const CALLS: readonly Case[] = [
  ['alone', F, '', [f]],
  ['on one line', G, '', [g]],
  ['with text before, between and after', `One.\n\n${F}\n\nTwo.\n\n${G}\n\nThree.`, 'One.\n\nTwo.\n\nThree.', [f, g]],
  ['several without anything between', F + G + F, '', [f, g, f]],
  ['several with blank lines between', `${F}\n\n \n${G}`, '', [f, g]],
  ['in the middle of a line', `Look: ${G} done`, 'Look: done', [g]],
  ['without spaces around', `a${G}b`, 'ab', [g]],
  ['after an emoji and before one', `👩‍🚀${G}🚀`, '👩‍🚀🚀', [g]],
  ['with the arguments before the name', '<tool_call>{"arguments":{"x":1},"name":"f"}</tool_call>', '', [f]],
  ['two in one pair of tags', '<tool_call>{"name":"g"}\n{"name":"f","arguments":{"x":1}}</tool_call>', '', [g, f]],
  ['a list in one pair of tags', '<tool_call>[{"name":"g"}, {"name":"g"}]</tool_call>', '', [g, g]],
  ['in a code block within the tags', '<tool_call>\n```json\n{"name":"g"}\n```\n</tool_call>ok', 'ok', [g]],
  ['as OpenAI writes them', '<tool_call>{"type":"function","function":{"name":"g"}}</tool_call>', '', [g]],
  ['after a lot of white space', `<tool_call>${' '.repeat(50)}{"name":"g"}</tool_call>`, '', [g]],
  ['with an escaped name', '<tool_call>{"name":"\\u0067","arguments":{}}</tool_call>', '', [g]],
];

const TAGS_AS_CONTENT: readonly Case[] = [
  [
    'tags in a string',
    `<tool_call>{"name":"f","arguments":{"s":"a <tool_call>{\\"b\\"}</tool_call>\\n <tool_response> \\" c"}}</tool_call> ok`,
    'ok',
    [call('f', { s: 'a <tool_call>{"b"}</tool_call>\n <tool_response> " c' })],
  ],
  [
    'braces in a string',
    '<tool_call>{"name":"f","arguments":{"s":"}}{[\\\\"}}</tool_call>',
    '',
    [call('f', { s: '}}{[\\' })],
  ],
];

const CODE: readonly Case[] = [
  ['a fenced block', `\`\`\`\n${G}\n\`\`\``, `\`\`\`\n${G}\n\`\`\``, []],
  ['a fenced block of xml', `\`\`\`xml\n${G}\n\`\`\`\n${G}`, `\`\`\`xml\n${G}\n\`\`\``, [g]],
  ['a block of tildes with backticks in it', `~~~ a\n\`\`\`\n${G}\n~~~\n${G}`, `~~~ a\n\`\`\`\n${G}\n~~~`, [g]],
  ['a longer fence', `\`\`\`\`\n\`\`\`\n${G}\n\`\`\`\`\n${G}`, `\`\`\`\`\n\`\`\`\n${G}\n\`\`\`\``, [g]],
  ['a fence closed by a longer one', `~~~\n${G}\n~~~~~ \n${G}`, `~~~\n${G}\n~~~~~`, [g]],
  ['an indented fence', `1. a\n   \`\`\`\n   ${G}\n   \`\`\`\n${G}`, `1. a\n   \`\`\`\n   ${G}\n   \`\`\``, [g]],
  ['a fence deep in a list', `- - a\n      ~~~\n${G}\n      ~~~\n${G}`, `- - a\n      ~~~\n${G}\n      ~~~`, [g]],
  ['a fence with text after it is no end', `\`\`\`\n\`\`\` x\n${G}`, `\`\`\`\n\`\`\` x\n${G}`, []],
  ['a fence with text before it is no end', `\`\`\`\na \`\`\`\n${G}`, `\`\`\`\na \`\`\`\n${G}`, []],
  ['three backticks in a line open no block', `a \`\`\` b\n${G}`, 'a ``` b', [g]],
  ['inline code of three with other backticks in it', `\`\`\`a\`b ${G} \`\`\` ${G}`, `\`\`\`a\`b ${G} \`\`\``, [g]],
  ['a fence that is never closed', `\`\`\`\n${G}\ntext`, `\`\`\`\n${G}\ntext`, []],
  ['inline code', `Write \`${G}\` here. ${G}`, `Write \`${G}\` here.`, [g]],
  ['inline code of two backticks', `\`\` a\`${G} \`\` ${G}`, `\`\` a\`${G} \`\``, [g]],
  ['inline code of three at the start of a line', `\`\`\`a\`\`\` ${G}`, '```a```', [g]],
  ['inline code that is open at the end of its line', `a \`b\n${G}`, 'a `b', [g]],
  ['an escaped backtick opens nothing', `a \\\`b ${G}`, 'a \\`b', [g]],
  ['two tildes open nothing', `~~ a ${G}`, '~~ a', [g]],
];

const TEXT: readonly Case[] = [
  ['text', 'Hello, world.\n\n', 'Hello, world.\n\n', []],
  ['nothing', '', '', []],
  ['white space', ' \n\t', ' \n\t', []],
  ['comparisons', 'a < b, b <t, x</y', 'a < b, b <t, x</y', []],
  ['other tags', '<tool><tool_calls><b></b><tool_cal l>', '<tool><tool_calls><b></b><tool_cal l>', []],
  ['the tag in other cases', '<TOOL_CALL>{} < tool_call >{}', '<TOOL_CALL>{} < tool_call >{}', []],
  ['prose about the tag', 'Use the <tool_call> tag, "<tool_call>".', 'Use the <tool_call> tag, "<tool_call>".', []],
  ['prose about the tag in Chinese', '用<tool_call>标签', '用<tool_call>标签', []],
  ['prose about results', 'See <tool_response> there.', 'See <tool_response> there.', []],
  ['a beginning that may be a tag', 'a <to', 'a <to', []],
];

const LEFT_OUT: readonly Case[] = [
  ['a closing tag with nothing to close', 'a</tool_call>b </tool_response> c', 'ab c', []],
  ['an empty pair of tags', 'a <tool_call>\n</tool_call> b', 'a b', []],
  ['an opening tag at the end', 'a <tool_call>', 'a', []],
  ['half a tag at the end', 'a <tool_ca', 'a', []],
  ['half a closing tag at the end', `${G.slice(0, -5)}`, '', [call('g', {}, { closed: false })]],
];

const UNCLOSED: readonly Case[] = [
  ['whole JSON', G.slice(0, -12), '', [call('g', {}, { closed: false })]],
  ['whole JSON, then text', `${G.slice(0, -12)}\nWait.`, 'Wait.', [call('g', {}, { closed: false })]],
  ['whole JSON, then text, between texts', `A ${G.slice(0, -12)}\nB`, 'A\nB', [call('g', {}, { closed: false })]],
  ['whole JSON, then another call', `${G.slice(0, -12)}${F}`, '', [g, f]],
  [
    'JSON without its last bracket',
    '<tool_call>{"name":"f","arguments":{"x":"y"}',
    '',
    [repaired('f', { x: 'y' }, 'missing', false)],
  ],
  ['JSON that ends in a word', '<tool_call>{"name":"f","arguments":{"x":12', '', [invalid('f', 'cut off', false)]],
  ['JSON that ends in a string', '<tool_call>{"name":"f","arguments":{"x":"y', '', [invalid('f', 'cut off', false)]],
  ['JSON that ends before the arguments', '<tool_call>{"name":"f"', '', [invalid('f', 'cut off', false)]],
  ['JSON that ends before the name', '<tool_call>{"na', '', [invalid('', 'cut off', false)]],
  [
    'JSON that another call interrupts',
    `<tool_call>{"name":"f","arguments":{"x":${G}`,
    '',
    [invalid('f', 'cut off'), g],
  ],
  [
    'a string that another call interrupts',
    `<tool_call>{"name":"f","arguments":{"x":"a\n${G} b`,
    'b',
    [invalid('f', 'cut off'), g],
  ],
  [
    'a string that the closing tag interrupts',
    `<tool_call>{"name":"f","arguments":{"x":"a</tool_call>\n${G}`,
    '',
    [invalid('f', 'cut off'), g],
  ],
  [
    'a string that the closing tag interrupts at last',
    '<tool_call>{"name":"f","arguments":{"x":"a</tool_call>\n\nWell.',
    'Well.',
    [invalid('f', 'cut off')],
  ],
];

const FAULTY: readonly Case[] = [
  [
    'Python',
    "<tool_call>{'name': 'f', 'arguments': {'a': True, 'b': None}}</tool_call>",
    '',
    [repaired('f', { a: true, b: null }, 'single quotes; Python')],
  ],
  [
    'tags in a string of Python',
    "<tool_call>{'name': 'f', 'arguments': {'a': '</tool_call> x'}}</tool_call>",
    '',
    [repaired('f', { a: '</tool_call> x' }, 'single quotes')],
  ],
  [
    'missing brackets',
    '<tool_call>{"name":"f","arguments":{"x":1</tool_call> ok',
    'ok',
    [repaired('f', { x: 1 }, 'missing closing')],
  ],
  ['brackets too many', '<tool_call>{"name":"f","arguments":{"x":1}}}]</tool_call> ok', 'ok', [f]],
  [
    'brackets too many in the middle',
    '<tool_call>{"name":"f","arguments":{"x":1}},"y":2}}</tool_call> ok',
    'ok',
    [invalid('f', 'more than the JSON', false)],
  ],
  [
    'text after the JSON',
    '<tool_call>{"name":"f","arguments":{}} and so on</tool_call> ok',
    'ok',
    [invalid('f', 'more than the JSON', false)],
  ],
  [
    'unescaped quotes',
    `<tool_call>{"name":"f","arguments":{"x":"say "hi" now"}}</tool_call>${G}`,
    '',
    [invalid('f', 'not valid'), g],
  ],
  [
    'unescaped quotes around a tag: nothing of it becomes text',
    '<tool_call>{"name":"f","arguments":{"x":"</tool_call> means "end" here"}}</tool_call> ok',
    'ok',
    [invalid('f', 'not valid')],
  ],
  ['no JSON', '<tool_call>f(x=1)</tool_call> ok', 'ok', [invalid('', 'not written as JSON')]],
  [
    'XML',
    '<tool_call>\n<function=f>\n<parameter=x>1</parameter>\n</function>\n</tool_call>',
    '',
    [invalid('', 'not written as JSON')],
  ],
  ['XML without an end', '<tool_call><function=f> </function>', '', [invalid('', 'not written as JSON', false)]],
  ['no object', '<tool_call>[1, 2]</tool_call> ok', 'ok', [invalid('', 'not written as JSON')]],
  ['no name', '<tool_call>{"arguments":{"x":1}}</tool_call>', '', [invalid('', 'names no tool')]],
  [
    'endless depth',
    `<tool_call>{"name":"f","arguments":{"x":${'['.repeat(5000)}${']'.repeat(5000)}}}</tool_call>`,
    '',
    [invalid('f', 'levels deep')],
  ],
];

const MADE_UP: readonly Case[] = [
  ['after a call', `Hm.\n${F}\n<tool_response>\n{"sunny": true}\n</tool_response>\nIt is sunny. ${G}`, 'Hm.', [f]],
  ['after a call on the same line', `${F}<tool_response>x`, '', [f]],
  ['after a call in the middle of a line', `Hm. ${G}<tool_response>x`, 'Hm.', [g]],
  ['after a call without its tag', `${G.slice(0, -12)}\n<tool_response>x</tool_response> y`, '', [g]],
  ['at the start of a line', 'So:\n  <tool_response>x</tool_response>', 'So:', []],
  ['within a call', '<tool_call>\n<tool_response>x', '', []],
];

const ALL: readonly Case[] = [
  ...CALLS,
  ...TAGS_AS_CONTENT,
  ...CODE,
  ...TEXT,
  ...LEFT_OUT,
  ...UNCLOSED,
  ...FAULTY,
  ...MADE_UP,
];

describe.each([
  ['calls', CALLS],
  ['in JSON, these are content:', TAGS_AS_CONTENT],
  ['code:', CODE],
  ['text:', TEXT],
  ['left out:', LEFT_OUT],
  ['calls that are not closed:', UNCLOSED],
  ['faulty calls:', FAULTY],
  ['results that the model makes up:', MADE_UP],
] as const)('%s', (_, cases) => {
  test.each(cases)('%s', (_what, reply, text, calls) => {
    const pieces = parse(reply);
    expect({ text: textOf(pieces), calls: callsOf(pieces) }).toEqual({ text, calls });
  });
});

test('a call that another one ends is not closed, unless its JSON was ended by that', () => {
  expect(callsOf(parse(`${G.slice(0, -12)}${F}`)).map(({ closed }) => closed)).toEqual([true, true]);
});

describe('pieces', () => {
  test('of a call are fragments as of a native stream, then its end', () => {
    const parser = createMessageParser();
    const [head, tail] = ['<tool_call>{"name": "f", "arguments": {"x"', ': 1}}</tool_call>'];
    const fragment = { type: 'tool_call', partial: true, index: 0, id: null };
    expect(parser.push('A\n\n')).toEqual([{ type: 'text', text: 'A' }]);
    expect(parser.push(head)).toEqual([{ ...fragment, name: 'f', arguments: '{"x"' }]);
    expect(parser.push(tail)).toEqual([
      { ...fragment, name: null, arguments: ': 1}' },
      { type: 'tool_call', partial: false, index: 0, call: f },
    ]);
    expect(parser.push('B')).toEqual([{ type: 'text', text: '\n\nB' }]);
    expect(parser.end()).toEqual([]);
  });

  test('of calls can be put together as those of a native stream, with the same result', () => {
    const pieces = parse(...`One. ${F}\n${G}${F}`);
    const assembler = createCallAssembler();
    for (const fragment of pieces.filter(isFragment)) assembler.add(fragment);
    const ends: readonly AssembledCall[] = callsOf(pieces);
    expect(ends).toMatchObject(assembler.calls());
    expect(ends.length).toBe(3);
  });

  test('of arguments that were not written as an object come as one fragment', () => {
    const pieces = parse(...'<tool_call>{"name":"f","arguments":"{\\"x\\":1}"}</tool_call>');
    expect(merged(pieces)).toEqual([
      { type: 'tool_call', partial: true, index: 0, id: null, name: 'f', arguments: '{"x":1}' },
      { type: 'tool_call', partial: false, index: 0, call: repaired('f', { x: 1 }, 'arguments in a string') },
    ]);
  });

  test('of arguments that are given twice over are the first ones', () => {
    const reply = '<tool_call>{"name":"f","arguments":{"x":1},"args":{"y":2}}</tool_call>';
    expect(merged(parse(reply))[0]).toMatchObject({ partial: true, arguments: '{"x":1}' });
  });

  test('of white space come late, but come', () => {
    expect(textOf(createMessageParser().push(' '.repeat(100))).length).toBeGreaterThanOrEqual(100 - MAX_HELD);
  });

  test('end where the model makes up a result', () => {
    const parser = createMessageParser();
    expect(parser.push(`${G}\n<tool_response>`).at(-1)).toEqual({ type: 'cut' });
    expect([...parser.push(`x</tool_response>${F} y`), ...parser.end()]).toEqual([]);
  });

  test('of text come at once, but for white space at the end and what may begin a tag', () => {
    const parser = createMessageParser();
    const shown = ['Hel', 'lo', ', ', 'a <', ' b', ' <tool', 'kit>'].map((chunk) => textOf(parser.push(chunk)));
    expect(shown).toEqual(['Hel', 'lo', ',', ' a', ' < b', '', ' <toolkit>']);
  });
});

/** Texts made of what the parser looks at. */
const marks = fc.constantFrom(
  ...['<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>', '<tool', '_call>', '<', '>', '/'],
  ...['{"name":"f","arguments":{', '}}', '{', '}', '[', ']', ',', ':', '"', "'", '\\', '"x":', '"arguments":', '1'],
  ...['`', '```', '~~~', '```json', '\n', '\n\n', ' ', '\t', '\r\n', 'word', 'True', '\u{1F680}', '\uD83D', 'é'],
);
const junk = fc.array(marks, { maxLength: 40 }).map((parts) => parts.join(''));

function cutInto(text: string, places: readonly number[]): readonly string[] {
  const cuts = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...cuts].map((from, i) => text.slice(from, cuts[i] ?? text.length));
}

describe('however the reply is cut', () => {
  test.each(ALL)('%s: the same in two pieces', (_, reply) => {
    const whole = merged(parse(reply));
    const step = Math.max(1, Math.ceil(reply.length / 400)); // all places but in the one very long reply
    for (let at = 0; at <= reply.length; at += step) {
      expect(merged(parse(reply.slice(0, at), reply.slice(at)))).toEqual(whole);
    }
  });

  test.each(ALL)('%s: the same unit by unit, and character by character', (_, reply) => {
    const whole = merged(parse(reply));
    expect(merged(parse(...reply.split('')))).toEqual(whole);
    expect(merged(parse(...reply))).toEqual(whole);
  });

  test('any number of pieces, of known replies and of any text', () => {
    const replies = fc.oneof(fc.constantFrom(...ALL.map(([, reply]) => reply)), junk);
    fc.assert(
      fc.property(fc.array(replies, { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 12 }), (parts, places) => {
        const reply = parts.join('\n');
        expect(merged(parse(...cutInto(reply, places)))).toEqual(merged(parse(reply)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('of any text', () => {
  test('pieces are in order: those of a call end with its end, and nothing follows a cut', () => {
    fc.assert(
      fc.property(junk, fc.array(fc.nat(), { maxLength: 8 }), (reply, places) => {
        const pieces = parse(...cutInto(reply, places));
        expect(pieces.slice(0, -1)).not.toContainEqual({ type: 'cut' });
        expect(pieces).not.toContainEqual({ type: 'text', text: '' });
        let ended = 0;
        for (const piece of pieces.filter(({ type }) => type === 'tool_call')) {
          expect(piece).toMatchObject({ index: ended });
          ended += isFragment(piece) ? 0 : 1;
        }
        expect(ended).toBe(callsOf(pieces).length);
      }),
      { numRuns: 2000 },
    );
  });

  test('a call has its name once, and the fragments of a faultless one are all of its arguments', () => {
    fc.assert(
      fc.property(junk, fc.array(fc.nat(), { maxLength: 8 }), (reply, places) => {
        const pieces = parse(...cutInto(`<tool_call>${reply}`, places));
        for (const [index, { invalid: reason, repaired: note, arguments: args, name }] of callsOf(pieces).entries()) {
          const fragments = pieces.filter(isFragment).filter((piece) => piece.index === index);
          expect(fragments.map((piece) => piece.name).filter((part) => part !== null)).toEqual(
            name === '' ? [] : [name],
          );
          if (reason !== null) expect(args).toEqual({});
          else if (note === null) expect(JSON.parse(fragments.map((piece) => piece.arguments).join(''))).toEqual(args);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('what has no tags is shown byte for byte, and nearly at once', () => {
    const text = fc.oneof(
      junk,
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(' ', '\n', '<', 't') }),
    );
    const plain = text.filter((reply) => !/<\/?tool_/.test(reply));
    fc.assert(
      fc.property(plain, fc.array(fc.nat(), { maxLength: 8 }), (reply, places) => {
        const parser = createMessageParser();
        let [sent, shown] = ['', ''];
        for (const chunk of cutInto(reply, places)) {
          sent += chunk;
          shown += textOf(parser.push(chunk));
          expect(sent.startsWith(shown)).toBe(true);
          expect(sent.length - shown.length).toBeLessThanOrEqual(MAX_HELD);
        }
        expect(shown + textOf(parser.end())).toBe(reply);
      }),
      { numRuns: 2000 },
    );
  });

  test('no piece splits a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(), { maxLength: 8 }), (word, places) => {
        const reply = `${word}<tool_call>{"name":"f","arguments":{"x":${JSON.stringify(word)}}}</tool_call>`;
        for (const piece of parse(...cutInto(reply, places))) {
          if (piece.type === 'text') expect(piece.text.isWellFormed()).toBe(true);
          if (isFragment(piece)) expect(piece.arguments.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});

test('what is written in text mode is read again: nothing is lost but the tags', () => {
  const word = fc.stringMatching(/^[a-z .,<]{0,20}[a-z.]$/).map((text) => text.trim());
  const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
  const anything = fc.oneof(fc.jsonValue(), fc.constantFrom(F, G, '</tool_call>\n', '<tool_response>', '```\n'));
  const asked = fc.record({ name, args: fc.dictionary(fc.string(), anything) });
  const turn = fc.record({ text: word, calls: fc.array(asked, { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 8 }), (turns, places) => {
      const written = turns.map(({ text, calls }) => {
        const toolCalls = calls.map(({ name, args }, i) => ({ id: `call_${i}`, name, arguments: plainJson(args) }));
        return toTextMode([{ role: 'assistant', content: text, toolCalls }])[0]?.content ?? '';
      });
      const pieces = parse(...cutInto(written.join('\n'), places));
      expect(textOf(pieces)).toBe(turns.map(({ text }) => text).join('\n'));
      expect(callsOf(pieces)).toEqual(
        turns.flatMap(({ calls }) => calls.map(({ name, args }) => call(name, plainJson(args)))),
      );
    }),
    { numRuns: 500 },
  );
});

/** As it comes out of JSON: without `-0`, and without a prototype set by `__proto__`. */
function plainJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

describe('long replies take time in proportion to their length', () => {
  // Each takes well under a second; with work that grows with the length of what came before it would be minutes.
  const LIMIT_MS = 10_000;
  const words = 'one two <three> `four` \n'.repeat(42_000);
  const content = JSON.stringify('line of a file </tool_call>\n'.repeat(4_000));

  test.each([
    ['1 MB of text', words, 0],
    ['a call with 100 kB of arguments', `<tool_call>{"name":"f","arguments":{"x":${content}}}</tool_call>`, 1],
    ['opening tags', '<tool_call>'.repeat(90_000), 0],
    ['a list that is never closed', `<tool_call>{"name":"f","arguments":{"x":${'['.repeat(300_000)}`, 1],
    [
      'strings that are never closed',
      `<tool_call>{"name":"f${'</tool_call>\n<tool_call>{"a":"'.repeat(20_000)}`,
      20_001,
    ],
    ['strings in strings', `<tool_call>{"a":"${"</tool_call>\n<tool_call>{'a':'".repeat(20_000)}`, 20_001],
  ])('%s', (_, reply, calls) => {
    const started = performance.now();
    const chunks = Array.from({ length: Math.ceil(reply.length / 4) }, (_, i) => reply.slice(4 * i, 4 * i + 4));
    expect(callsOf(parseAll(chunks)).length).toBe(calls);
    expect(callsOf(parse(reply)).length).toBe(calls);
    expect(performance.now() - started).toBeLessThan(LIMIT_MS);
  });
});
