import { expect, test } from 'vitest';
import { coversTool } from './agent.ts';

test.each([
  [['send_email'], 'send_email', true],
  [['send_email'], 'send_emails', false],
  [['send_emails'], 'send_email', false],
  [['*'], 'anything', true],
  [['mcp:files/*'], 'mcp:files/read', true],
  [['mcp:files/*'], 'mcp:files2/read', false],
  [['mcp:files/*'], 'mcp:file', false],
  [['a', 'mcp:files/*'], 'a', true],
  [[], 'anything', false],
  [['SEND_EMAIL'], 'send_email', false],
])('%j on %s: %s', (patterns, name, covered) => {
  expect(coversTool(patterns, name)).toBe(covered);
});
