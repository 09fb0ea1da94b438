import { isJsonObject } from '@turnwire/shared/domain/json';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJsonObject } from './repair-json.ts';

const read = (text: string) => readJsonObject(text, true);

describe('small faults are repaired and named', () => {
  test.each<[string, string, object, readonly string[]]>([
    ['none', '{"a":[1,-2.5e3,true,null,"x"]}', { a: [1, -2500, true, null, 'x'] }, []],
    ['space around', ' \n{"a":1}\n', { a: 1 }, []],
    ['Python literals', '{"a":True,"b":[False,None]}', { a: true, b: [false, null] }, ['Python literals']],
    ['single quotes', `{'a':'say "hi"'}`, { a: 'say "hi"' }, ['single quotes']],
    ['an escaped single quote', `{'a':'it\\'s'}`, { a: "it's" }, ['single quotes']],
    ['Python’s mixed quotes', `{'a': "it's"}`, { a: "it's" }, ['single quotes']],
    ['a trailing comma', '{"a":[1,2,],}', { a: [1, 2] }, ['a trailing comma']],
    ['raw line breaks', '{"a":"x\ny\tz"}', { a: 'x\ny\tz' }, ['raw line breaks or tabs in a string']],
    ['keys without quotes', '{a:1}', { a: 1 }, ['words without quotes']],
    ['a word without quotes', '{"a":celsius}', { a: 'celsius' }, ['words without quotes']],
    ['missing closing brackets', '{"a":[{"b":"c"', { a: [{ b: 'c' }] }, ['missing closing brackets']],
    ['a comma before them', '{"a":[1,', { a: [1] }, ['missing closing brackets']],
    ['too many closing brackets', '{"a":1}}] ', { a: 1 }, ['too many closing brackets']],
    ['backslashes of an expression', '{"a":"\\d+\\."}', { a: '\\d+\\.' }, ['single backslashes']],
    ['backslashes of a path', '{"a":"C:\\users\\me"}', { a: 'C:\\users\\me' }, ['single backslashes']],
    [
      'words in strings',
      "{'a':'True\nNone \\u0041'}",
      { a: 'True\nNone A' },
      ['single quotes', 'raw line breaks or tabs in a string'],
    ],
  ])('%s', (_, text, value, faults) => {
    expect(read(text)).toEqual({ value, faults, invalid: null });
  });
});

describe('what is in doubt is refused', () => {
  test.each([
    ['nothing', ''],
    ['no object', '"a"'],
    ['an array', '[1]'],
    ['null', 'null'],
    ['unescaped quotes', '{"a":"say "hi" now"}'],
    ['JSON in a string with unescaped quotes', '{"a":"{"b":1}"}'],
    ['unescaped quotes at the end of a string', '{"a":"he said "yes"","b":1}'],
    ['an apostrophe in single quotes', "{'a':'it's'}"],
    ['a missing comma', '{"a":"x" "b":"y"}'],
    ['a missing colon', '{"a" 1}'],
    ['a missing value', '{"a":}'],
    ['a missing value before a bracket', '{"a":1,"b":'],
    ['a key alone', '{"a":1,"b"'],
    ['an open string', '{"a":"x'],
    ['an open string after a backslash', '{"a":"x\\'],
    ['brackets that do not match', '{"a":[1}}'],
    ['an ellipsis', '{"a":[1,2,...]}'],
    ['a comment', '{"a":1 /* or 2 */}'],
    ['a line comment', '{"a":1, // x\n"b":2}'],
    ['an expression', '{"a":"x" + "y"}'],
    ['a call', '{"a":ObjectId("x")}'],
    ['a callback', 'f({"a":1})'],
    ['undefined', '{"a":undefined}'],
    ['no number', '{"a":[NaN]}'],
    ['another notation', '{"a":0x10}'],
    ['half a number', '{"a":1.}'],
    ['half an exponent', '{"a":2e}'],
    ['two objects', '{"a":1}{"b":2}'],
    ['text after it', '{"a":1} and more'],
    ['a code block', '```json\n{"a":1}\n```'],
    ['half an escape', '{"a":"\\u00"}'],
    ['a path with an escape in it', '{"a":"C:\\temp\\data"}'],
    ['the start of an object in a key', '{"{"tagIds"'],
    ['too deep', `{"a":${'['.repeat(300)}${']'.repeat(300)}}`],
  ])('%s', (_, text) => {
    expect(read(text)).toEqual({ value: null, faults: [], invalid: expect.stringMatching(/\.$/) });
  });

  test('the reason says what to do about it', () => {
    expect(read('{"a":"x').invalid).toContain('cut off');
    expect(read('{"a":"C:\\temp\\data"}').invalid).toContain('backslash');
    expect(read('[1]').invalid).toContain('not an object');
  });
});

test('without a marked end, a last word may be half a word', () => {
  expect(readJsonObject('{"a":12', true)).toMatchObject({ value: { a: 12 } });
  expect(readJsonObject('{"a":12', false)).toMatchObject({ value: null, invalid: expect.stringContaining('cut off') });
  expect(readJsonObject('{"a":[1,', false)).toMatchObject({ value: null });
  expect(readJsonObject('{"a":"b"', false)).toMatchObject({ value: { a: 'b' } });
});

const objects = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.parse(JSON.stringify(value)));

test('what Python writes means what JSON means', () => {
  fc.assert(
    fc.property(objects, (value) => {
      expect(read(inPython(value))).toMatchObject({ value, invalid: null });
    }),
    { numRuns: 1000 },
  );
});

test('JSON that is cut anywhere is refused, or lacks things, but what is there is right', () => {
  fc.assert(
    fc.property(objects, fc.nat(), (value, place) => {
      const text = JSON.stringify(value);
      const cut = text.slice(0, place % text.length);
      const { value: found } = readJsonObject(cut, false);
      if (found !== null) expect(isPartOf(found, value)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test('any text is read or refused, and never throws', () => {
  const marks = fc.constantFrom(...'{}[]:,"\'\\\n `…', 'True', 'nul', '"a":', '//', '...', '1e', '\\u', '\uD800');
  fc.assert(
    fc.property(
      fc.array(marks).map((parts) => `{${parts.join('')}`),
      fc.boolean(),
      (text, ended) => {
        const { value, invalid } = readJsonObject(text, ended);
        expect(value === null).toBe(invalid !== null);
      },
    ),
    { numRuns: 3000 },
  );
});

test('a long text is repaired in time', () => {
  const text = `{'a': 'it\\'s "quoted", and: so on}\n${'line, "of": text]}\n'.repeat(6000)}', 'b': [${"'x',".repeat(5000)}]}`;
  const started = performance.now();
  expect(read(text)).toMatchObject({ invalid: null });
  expect(performance.now() - started).toBeLessThan(5000); // some 50 ms
});

/** As `repr` does, with single quotes alone. */
function inPython(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(inPython).join(', ')}]`;
  if (!isJsonObject(value)) return String(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${inPython(key)}: ${inPython(item)}`)
    .join(', ')}}`;
}

function isPartOf(part: unknown, whole: unknown): boolean {
  if (Array.isArray(part)) return Array.isArray(whole) && part.every((item, i) => isPartOf(item, whole[i]));
  if (!isJsonObject(part)) return Object.is(part, whole);
  return (
    isJsonObject(whole) &&
    Object.keys(part).every((key) => Object.hasOwn(whole, key) && isPartOf(part[key], whole[key]))
  );
}
