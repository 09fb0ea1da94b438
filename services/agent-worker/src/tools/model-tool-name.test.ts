import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelToolName } from './model-tool-name.ts';

describe('modelToolName', () => {
  it('leaves names that models take as they are', () => {
    expect(modelToolName('get_weather')).toBe('get_weather');
    expect(modelToolName('a-b_C9')).toBe('a-b_C9');
  });

  it('reads well for tools of MCP servers', () => {
    expect(modelToolName('mcp:files/read-file')).toBe('mcp__files__read-file');
  });

  it('keeps apart what would read the same', () => {
    const names = [
      'mcp:a__b/c',
      'mcp:a/b__c',
      'mcp:a_/b',
      'mcp:a/_b',
      'mcp__a__b',
      'mcp:a/b',
      'mcp:a/b.c',
      'mcp:a/b_c',
      'mcp:a/b/c',
      `mcp:${'s'.repeat(64)}/${'t'.repeat(64)}`,
      `mcp:${'s'.repeat(64)}/${'t'.repeat(65)}`,
      'a.b',
      'a_b',
      '',
    ];
    expect(new Set(names.map(modelToolName)).size).toBe(names.length);
  });

  it('always gives a name that providers take, and one per tool', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'B', '_', '-', '.', '/', '中', '__', ' '), maxLength: 40 });
    const name = fc.oneof(
      part,
      fc.tuple(part, part).map(([server, tool]) => `mcp:${server}/${tool}`),
      fc.tuple(part, part).map(([server, tool]) => `mcp__${server}__${tool}`),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
        const given = names.map(modelToolName);
        expect(given.every((one) => /^[a-zA-Z0-9_-]{1,64}$/.test(one))).toBe(true);
        expect(new Set(given).size).toBe(names.length);
      }),
    );
  });
});
