import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonStructure } from './json-structure.ts';

function follow(text: string): JsonStructure {
  const structure = new JsonStructure();
  for (const char of text) structure.take(char);
  return structure;
}

describe('the structure of an object', () => {
  test.each([
    ...['{}', '{"a":[]}', '{"a":[[],{}],"b":{"c":"}"}}', "{'a':'\\'}',b:None,}", '{"a":"x\n}","b":1}'],
    ...['{"a":"\\"}"}', ' {"a":1}', '{"a":[1,],}'],
  ])('%j ends with its last unit', (text) => {
    expect(follow(text.slice(0, -1))).toMatchObject({ complete: false, broken: false });
    expect(follow(text)).toMatchObject({ complete: true, broken: false, depth: 0 });
    expect(() => JSON.parse(follow(text).close(false) ?? '')).not.toThrow();
  });

  test.each([
    ...[
      '[',
      '"',
      'a',
      '}',
      '{{',
      '{[',
      '{,',
      '{:',
      '{"a",',
      '{"a"}',
      '{"a":,',
      '{"a":}',
      '{"a":1:',
      '{"a":1]',
      '{"a":[}',
    ],
    ...[
      '{"a":[1}',
      '{"a":[:',
      '{"a":[1:',
      '{"a":[,',
      '{"a":1,,',
      '{"a" "',
      '{"a":"b" c',
      '{"a":"b"c',
      '{"a":1 "',
      '{"a":b "',
    ],
    ...[
      '{"a":[] [',
      '{"a":{} "',
      '{"a":1 2',
      '{1:',
      '{"a":1.,',
      '{"a":0x1}',
      '{"a":undefined,',
      '{"a":+1,',
      "{'a':'b'c",
    ],
  ])('%s is broken by its last unit', (text) => {
    expect(follow(text.slice(0, -1)).broken).toBe(false);
    expect(follow(text)).toMatchObject({ broken: true, complete: false });
    expect(follow(`${text}":}]}`).broken).toBe(true);
    expect(follow(text).close(true)).toBeNull();
  });

  test.each<[string, string | null, string | null]>([
    // so far, closed if its end is marked, closed if not
    ['', null, null],
    ['{', null, null],
    ['{"a', null, null],
    ['{"a"', null, null],
    ['{a', null, null],
    ['{"a":', null, null],
    ['{"a":"b', null, null],
    ['{"a":"b"', '{"a":"b"}', '{"a":"b"}'],
    ['{"a":1', '{"a":1}', null],
    ['{"a":1 ', '{"a":1}', '{"a":1}'],
    ['{"a":[1,', '{"a":[1]}', null],
    ['{"a":[{}', '{"a":[{}]}', '{"a":[{}]}'],
    ['{"a":[', null, null],
  ])('%s can be closed to %j, or without a marked end to %j', (text, ended, open) => {
    expect([follow(text).close(true), follow(text).close(false)]).toEqual([ended, open]);
  });

  test('is found in all JSON, and nothing else is made of it', () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const structure = follow(text);
        expect(structure).toMatchObject({ complete: true, faults: new Set() });
        expect(structure.close(true)).toBe(JSON.stringify(JSON.parse(text)));
        expect(follow(text.slice(0, -1)).complete).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});
