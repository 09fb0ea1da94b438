import { describe, expect, test } from 'vitest';
import { repairArguments } from './repair-arguments.ts';

describe('arguments', () => {
  test.each<[string, string, object]>([
    ['nothing at all', '', {}],
    ['white space', ' \n', {}],
    ['an object', '{"a":[1]}', { a: [1] }],
    ['an empty string', '""', {}],
  ])('%s: nothing to repair', (_, json, args) => {
    expect(repairArguments(json)).toEqual({ arguments: args, invalid: null, repaired: null });
  });

  test.each<[string, object, string]>([
    ["{'a': True,}", { a: true }, 'single quotes; Python literals; a trailing comma'],
    ['{"a":1}}', { a: 1 }, 'too many closing brackets'],
    ['{"a":[1', { a: [1] }, 'missing closing brackets'],
    ['"{\\"a\\":1}"', { a: 1 }, 'arguments in a string'],
    ['"{\'a\':1}"', { a: 1 }, 'arguments in a string; single quotes'],
  ])('%s: one line says what was repaired', (json, args, faults) => {
    const repaired = `The call had small faults, which were repaired (${faults}). Write strict JSON.`;
    expect(repairArguments(json)).toEqual({ arguments: args, invalid: null, repaired });
  });

  test.each(['[1]', '3', 'null', '{', '{"a":"b', '"text"', '{"{"tagIds"'])('%s cannot be used', (json) => {
    expect(repairArguments(json)).toEqual({ arguments: {}, invalid: expect.any(String), repaired: null });
  });
});
