import { expect, test } from 'vitest';
import { expandPrompt } from './expand-prompt.ts';

test.each([
  ['Hello {{name}}.', { name: 'Ada' }, 'Hello Ada.'],
  ['{{ name }}, {{name}}', { name: 'Ada' }, 'Ada, Ada'],
  ['{{a}}', { a: '{{b}}', b: 'never' }, '{{b}}'],
  ['{{a}}{{b}}', { a: '{{', b: 'b}}' }, '{{b}}'],
  ['{{a}}', { a: '$& $1 $$' }, '$& $1 $$'],
  [
    '{{unknown}} {{constructor}} {{Name}} {{}} {name}',
    { name: 'Ada' },
    '{{unknown}} {{constructor}} {{Name}} {{}} {name}',
  ],
  ['{{{name}}}', { name: 'Ada' }, '{Ada}'],
  ['', { name: 'Ada' }, ''],
])('%j with %j is %j', (template, values, expected) => {
  expect(expandPrompt(template, values)).toBe(expected);
});
