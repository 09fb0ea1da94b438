import { expect, test } from 'vitest';
import type { JsonSchema } from '../chat-request.ts';
import { fillArguments } from './fill-arguments.ts';

const object = (properties: Record<string, JsonSchema>, required = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required,
});
const text: JsonSchema = { type: 'string' };

test.each<[string, JsonSchema | undefined, string, Record<string, unknown>]>([
  [
    'JSON in the text wins',
    object({ to: text }),
    'with {"to": "x", "n": {"a": "}"}} please',
    { to: 'x', n: { a: '}' } },
  ],
  ['no schema', undefined, 'anything', {}],
  [
    'an address and quotations in their order',
    object({ subject: text, body: text, to: text }),
    'to a.b@c.org "Hi" “there”',
    { to: 'a.b@c.org', subject: 'Hi', body: 'there' },
  ],
  ['an address by its format', object({ who: { type: 'string', format: 'email' } }), 'for a@b.co', { who: 'a@b.co' }],
  ['a link', object({ url: text }), 'fetch https://example.com/a?b=1 now', { url: 'https://example.com/a?b=1' }],
  [
    'named values, also of optional properties',
    object({ city: text, days: { type: 'integer' } }, ['city']),
    'city=Oslo days: 3',
    { city: 'Oslo', days: 3 },
  ],
  [
    'optional properties that nothing is said about stay out',
    object({ city: text, days: { type: 'integer' } }, ['city']),
    'for Oslo',
    { city: 'Oslo' },
  ],
  [
    'numbers',
    object({ a: { type: 'number' }, b: { type: 'integer' }, c: { type: 'number', minimum: 7 } }),
    'add 2.5 and 4',
    { a: 2.5, b: 4, c: 7 },
  ],
  ['a choice', object({ unit: { enum: ['celsius', 'fahrenheit'] } }), 'in Fahrenheit', { unit: 'fahrenheit' }],
  [
    'a constant, a default, a boolean',
    object({ a: { const: 1 }, b: { default: 'x' }, c: { type: 'boolean' } }),
    'go',
    { a: 1, b: 'x', c: true },
  ],
  [
    'a list and an object',
    object({ tags: { type: 'array', items: text }, at: object({ when: text }) }),
    '"red" on 2024-05-01',
    { tags: ['red'], at: { when: '2024-05-01' } },
  ],
  [
    'the first of several types',
    object({ q: { anyOf: [{ type: 'string' }, { type: 'null' }] } }),
    'about whales',
    { q: 'whales' },
  ],
  ['a required property without a schema', { type: 'object', required: ['q'] }, 'for whales.', { q: 'whales' }],
  ['nothing to take', object({ q: text }), '', { q: '(no q)' }],
])('%s', (_name, schema, words, expected) => {
  expect(fillArguments(schema, words)).toEqual(expected);
});
