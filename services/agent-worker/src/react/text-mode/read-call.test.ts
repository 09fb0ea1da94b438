import { describe, expect, test } from 'vitest';
import { readCall } from './read-call.ts';

describe('a call', () => {
  test.each<[string, string, object]>([
    ['in the agreed form', '{"name":"f","arguments":{"a":1}}', { a: 1 }],
    ['with space around its name', '{"name":" f ","arguments":{"a":1}}', { a: 1 }],
    ['with id and type', '{"id":"1","type":"function","name":"f","arguments":{"a":1}}', { a: 1 }],
    ['as OpenAI sends them', '{"type":"function","function":{"name":"f","arguments":{"a":1}}}', { a: 1 }],
    ['without arguments', '{"name":"f"}', {}],
    ['with null for arguments', '{"name":"f","arguments":null}', {}],
    ['with an empty string for arguments', '{"name":"f","arguments":""}', {}],
  ])('%s', (_, text, args) => {
    expect(readCall(text, true)).toEqual({ name: 'f', arguments: args, invalid: null, repaired: null });
  });

  test.each<[string, string, object, string]>([
    ['arguments in a string', '{"name":"f","arguments":"{\\"a\\":1}"}', { a: 1 }, '(arguments in a string)'],
    ['`parameters`', '{"name":"f","parameters":{"a":1}}', { a: 1 }, '(`parameters` for `arguments`)'],
    ['`args`', '{"name":"f","args":{"a":1}}', { a: 1 }, '(`args` for `arguments`)'],
    ['arguments beside the name', '{"id":1,"name":"f","a":1}', { a: 1 }, '(arguments beside the name)'],
    ['an argument named `args`', '{"name":"f","args":["a"]}', { args: ['a'] }, '(arguments beside the name)'],
    ['more beside the arguments', '{"name":"f","arguments":{"a":1},"b":2}', { a: 1 }, 'left out: b)'],
    ['faulty JSON as well', "{'name':'f','parameters':{'a':1}}", { a: 1 }, '(single quotes; `parameters` for'],
  ])('%s: repaired, and said so', (_, text, args, note) => {
    expect(readCall(text, true)).toEqual({
      name: 'f',
      arguments: args,
      invalid: null,
      repaired: expect.stringContaining(note),
    });
  });

  test.each<[string, string, string, string]>([
    ['cut off', '{"name":"f","arguments":{"a":"', '', 'cut off'],
    ['without a name', '{"arguments":{}}', '', 'names no tool'],
    ['with an empty name', '{"name":" ","arguments":{}}', '', 'names no tool'],
    ['with a number for a name', '{"name":1,"arguments":{}}', '', 'names no tool'],
    ['with a list of arguments', '{"name":"f","arguments":[1]}', 'f', 'not an object'],
    ['with text for arguments', '{"name":"f","arguments":"a"}', 'f', 'not valid'],
  ])('%s cannot be run', (_, text, name, reason) => {
    expect(readCall(text, true)).toEqual({
      name,
      arguments: {},
      invalid: expect.stringContaining(reason),
      repaired: null,
    });
  });

  test('that ends without a marked end before its arguments is cut off', () => {
    expect(readCall('{"name":"f"', true)).toMatchObject({ arguments: {}, invalid: null });
    expect(readCall('{"name":"f"', false)).toMatchObject({ invalid: expect.stringContaining('before its arguments') });
  });

  test('keeps an argument with the name of a prototype', () => {
    const { arguments: args } = readCall('{"name":"f","arguments":{"__proto__":{"a":1}}}', true);
    expect(Object.keys(args)).toEqual(['__proto__']);
    expect('a' in args).toBe(false);
  });
});
