import { coversTool } from '@turnwire/shared/domain/agent';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wantedTools } from './tool-patterns.ts';

const builtIn = new Set(['calculator']);

describe('wantedTools', () => {
  it.each([
    [[], [], []],
    [['calculator', 'orders', 'orders'], ['orders'], []],
    [['mcp:files/*', 'mcp:files/read', 'mcp:web/get*'], [], ['files', 'web']],
    [['*'], 'all', 'all'],
    [['mcp:*'], [], 'all'],
    [['mcp:fi*'], [], 'all'],
    [['m*'], 'all', 'all'],
    [['order*', 'mcp:web/*'], 'all', ['web']],
    [['mcp:files'], [], []],
  ] as const)('for %j looks at tools %j and servers %j', (patterns, tools, servers) => {
    const { httpTools, mcpServers } = wantedTools(patterns, builtIn);
    expect([httpTools === 'all' ? 'all' : [...httpTools], mcpServers === 'all' ? 'all' : [...mcpServers]]).toEqual([
      tools,
      servers,
    ]);
  });

  it('never misses what the patterns cover', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'm', 'c', 'p'), minLength: 1, maxLength: 3 });
    const toolName = fc.oneof(
      letters,
      fc.tuple(letters, letters).map(([server, tool]) => `mcp:${server}/${tool}`),
    );
    const pattern = fc.oneof(
      toolName,
      fc.tuple(toolName, fc.nat(12)).map(([name, length]) => `${name.slice(0, length)}*`),
    );
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 4 }), toolName, (patterns, name) => {
        if (!coversTool(patterns, name)) return;
        const { httpTools, mcpServers } = wantedTools(patterns, new Set());
        const server = /^mcp:([^/]+)\//.exec(name)?.[1];
        const looked = server === undefined ? httpTools : mcpServers;
        expect(looked === 'all' || looked.has(server ?? name)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
