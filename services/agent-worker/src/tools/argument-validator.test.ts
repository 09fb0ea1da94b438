import type { JsonObject } from '@turnwire/shared/domain/json';
import type { Tool } from '@turnwire/shared/ports/tool';
import { describe, expect, it } from 'vitest';
import { createArgumentValidator } from './argument-validator.ts';

function tool(parameters: JsonObject): Tool {
  const definition = { name: 'probe', description: '', parameters };
  return { definition, idempotent: true, timeoutMs: null, run: () => Promise.resolve('') };
}

const weather = tool({
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer', default: 3 },
    unit: { enum: ['c', 'f'] },
    at: { type: 'array', items: { type: 'object', properties: { on: { type: 'string', format: 'date' } } } },
  },
  required: ['city'],
  additionalProperties: false,
});

describe('createArgumentValidator', () => {
  const validate = createArgumentValidator();

  it.each([
    [{ city: 'Oslo', days: 2, unit: 'c' }, null],
    [{ city: 'Oslo', at: [{ on: '2026-02-28' }] }, null],
    [{}, 'arguments.city is required.'],
    [{ city: 1 }, 'arguments.city must be string.'],
    [{ city: 'Oslo', days: '2' }, 'arguments.days must be integer.'],
    [{ city: 'Oslo', unit: 'k' }, 'arguments.unit must be one of ["c","f"].'],
    [{ city: 'Oslo', when: 1 }, 'arguments.when is not a known argument.'],
    [{ city: 'Oslo', at: [{ on: '2026-02-30' }] }, 'arguments.at.0.on must match format "date".'],
    ['Oslo', 'arguments must be object.'],
    [null, 'arguments must be object.'],
  ])('answers for %j: %s', (args, expected) => {
    expect(validate(weather, args)).toBe(expected);
  });

  it('neither coerces nor fills in defaults', () => {
    const args = { city: 'Oslo' };
    expect(validate(weather, args)).toBeNull();
    expect(args).toEqual({ city: 'Oslo' });
  });

  it('reads 2020-12 and draft-07, whatever `$schema` says', () => {
    const inNew = { type: 'object', properties: { pair: { prefixItems: [{ type: 'number' }] } } };
    const inOld = {
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'number' }], additionalItems: false } },
    };
    for (const $schema of [
      'http://json-schema.org/draft-07/schema#',
      'https://json-schema.org/draft/2020-12/schema',
      'urn:x',
    ]) {
      expect(validate(tool({ ...inNew, $schema }), { pair: ['a'] })).toBe('arguments.pair.0 must be number.');
      expect(validate(tool({ ...inOld, $schema }), { pair: ['a'] })).toBe('arguments.pair.0 must be number.');
      expect(validate(tool({ ...inOld, $schema }), { pair: [1, 2] })).not.toBeNull();
    }
  });

  it('tells of a schema that does not compile instead of throwing', () => {
    const broken = tool({ type: 'object', properties: { a: { type: 'wrong' } } });
    expect(validate(broken, { a: 1 })).toMatch(/^The JSON Schema of the tool "probe" cannot be used: /);
    expect(validate(tool({ $ref: 'https://example.com/none.json' }), {})).toMatch(/cannot be used/);
    expect(validate(tool({ type: 'object', properties: { a: { pattern: '(' } } }), {})).toMatch(/cannot be used/);
  });

  it('keeps tools apart that share an `$id`, and ignores formats that it does not know', () => {
    const of = (type: string) =>
      tool({ $id: 'args', type: 'object', properties: { a: { type, format: 'moon-phase' } } });
    expect(validate(of('string'), { a: 'x' })).toBeNull();
    expect(validate(of('number'), { a: 'x' })).toBe('arguments.a must be number.');
  });

  it('compiles a definition once', () => {
    const many = tool({ type: 'object', properties: { a: { type: 'string' } } });
    validate(many, {});
    const start = performance.now();
    for (let i = 0; i < 2_000; i += 1) validate(many, { a: 'x' });
    // Compiling takes some milliseconds each time: 2,000 times would take seconds.
    expect(performance.now() - start).toBeLessThan(500);
  });
});
