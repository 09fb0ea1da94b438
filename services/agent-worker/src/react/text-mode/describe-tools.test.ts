import type { JsonObject } from '@turnwire/shared/domain/json';
import type { ToolDefinition } from '@turnwire/shared/ports/language-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeArguments } from './describe-arguments.ts';
import { describeTools } from './describe-tools.ts';
import { createMessageParser } from './message-parser.ts';

const weather: ToolDefinition = {
  name: 'get_weather',
  description: 'The weather of a city now.\n',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Its name,\n  in any language.' },
      unit: { enum: ['celsius', 'fahrenheit'], default: 'celsius' },
      days: { type: 'integer', minimum: 1, maximum: 7 },
    },
    required: ['city', 'days'],
  },
};
const time: ToolDefinition = { name: 'current_time', description: '', parameters: { type: 'object' } };

describe('tools in plain words', () => {
  test('say how to call, and what there is', () => {
    expect(describeTools([weather, time])).toBe(`# Tools

To call a tool, write a JSON object with its name and its arguments between tags, in this form:
<tool_call>
{"name": "get_weather", "arguments": {"city":"...","days":1}}
</tool_call>
Each call has tags of its own and stands outside of code blocks. End your message after your last call: the results
come in the next message, in <tool_response> tags and in the order of the calls. Never write <tool_response> yourself.

## current_time
No arguments.

## get_weather
The weather of a city now.
Arguments:
- city (string, required): Its name, in any language.
- unit ("celsius" | "fahrenheit", default "celsius")
- days (integer, required, minimum 1, maximum 7)`);
  });

  test('are the same in any order', () => {
    expect(describeTools([time, weather])).toBe(describeTools([weather, time]));
  });

  test('are nothing without tools', () => {
    expect(describeTools([])).toBe('');
  });

  test('show a call that the parser reads', () => {
    const [, example = ''] = /in this form:\n(.*?)\nEach/s.exec(describeTools([weather])) ?? [];
    const parser = createMessageParser();
    const pieces = [...parser.push(example), ...parser.end()];
    expect(pieces.at(-1)).toMatchObject({
      call: { name: 'get_weather', arguments: { city: '...', days: 1 }, invalid: null, repaired: null },
    });
  });
});

describe('arguments', () => {
  test.each<[string, JsonObject, string]>([
    ['a list', { type: 'array', items: { type: 'string' }, maxItems: 3 }, 'a (array of string, maxItems 3)'],
    ['a list of anything', { type: 'array' }, 'a (array)'],
    ['one value', { const: 'x' }, 'a ("x")'],
    ['a type or null', { type: ['string', 'null'] }, 'a (string | null)'],
    ['choices', { anyOf: [{ type: 'string' }, { type: 'null' }, { type: 'string' }] }, 'a (string | null)'],
    ['a format', { type: 'string', format: 'date', pattern: '^2' }, 'a (string, format date, pattern ^2)'],
    ['a default of null', { type: 'string', default: null }, 'a (string, default null)'],
    ['anything', {}, 'a (any)'],
    ['an object without a type', { properties: { b: {} } }, 'a (object)\n  - b (any)'],
    [
      'an object',
      { type: 'object', properties: { b: { type: 'number', description: 'B.' } }, required: ['b'] },
      'a (object)\n  - b (number, required): B.',
    ],
    [
      'a list of objects',
      { type: 'array', items: { type: 'object', properties: { b: { type: 'number' } } } },
      'a (array of object)\n  - b (number)',
    ],
    ['a reference', { $ref: '#/$defs/unit', description: 'U.' }, 'a ("c" | "k"): U.'],
    ['a reference in `allOf`', { allOf: [{ $ref: '#/$defs/unit' }], default: 'c' }, 'a ("c" | "k", default "c")'],
    ['a reference with an escape', { $ref: '#/$defs/a~1b' }, 'a (boolean)'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'a (any)'],
    ['a reference to elsewhere', { $ref: 'https://example.com/x' }, 'a (any)'],
  ])('%s', (_, schema, words) => {
    const $defs = { unit: { enum: ['c', 'k'] }, 'a/b': { type: 'boolean' } };
    expect(describeArguments({ $defs, properties: { a: schema } })).toBe(`- ${words}`);
  });

  test('that refer to themselves end', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
    const described = describeArguments({
      $defs: { node, loop: { $ref: '#/$defs/loop' } },
      properties: node.properties,
    });
    expect(described.split('\n').at(-1)).toBe('      - next (object)');
    expect(
      describeArguments({ $defs: { loop: { $ref: '#/$defs/loop' } }, properties: { a: { $ref: '#/$defs/loop' } } }),
    ).toBe('- a (any)');
  });

  test('of any schema are described', () => {
    const key = fc.constantFrom('type', 'properties', 'items', 'enum', 'anyOf', 'allOf', '$ref', 'required', 'default');
    const leaf = fc.constantFrom('string', 'array', '#/properties/a', '#/', 1, null, true);
    const { schema } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.dictionary(key, tie('schema')),
        fc.array(tie('schema'), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b'), schema), fc.array(leaf), (properties, required) => {
        const parameters: JsonObject = JSON.parse(JSON.stringify({ properties, required }));
        const words = describeTools([{ name: 'f', description: 'F.', parameters }]);
        for (const name of Object.keys(properties)) expect(words).toContain(`\n- ${name} (`);
      }),
      { numRuns: 1000 },
    );
  });
});
