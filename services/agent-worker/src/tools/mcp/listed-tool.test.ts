import { describe, expect, it } from 'vitest';
import { toListedTool } from './listed-tool.ts';
import { resultText, toolResultSchema } from './result-text.ts';

describe('toListedTool', () => {
  it('takes a tool with as little as a name', () => {
    expect(toListedTool({ name: 'a' })).toEqual({
      name: 'a',
      description: '',
      parameters: { type: 'object', properties: {} },
      idempotent: false,
    });
  });

  it('keeps the schema, and the title where there is no description', () => {
    const inputSchema = { type: 'object', properties: { a: {} }, required: ['a'], $defs: { b: {} } };
    expect(toListedTool({ name: 'a', title: 'A', inputSchema, outputSchema: { $ref: 'nowhere' } })).toMatchObject({
      description: 'A',
      parameters: inputSchema,
    });
  });

  it.each([
    [{ idempotentHint: true }, true],
    [{ readOnlyHint: true }, true],
    [{ idempotentHint: false, readOnlyHint: false, destructiveHint: true }, false],
  ])('reads the hints %j', (annotations, idempotent) => {
    expect(toListedTool({ name: 'a', annotations })?.idempotent).toBe(idempotent);
  });

  it.each([[null], ['a'], [{}], [{ name: '' }], [{ name: 1 }], [{ name: 'a', inputSchema: 'x' }]])(
    'leaves out %j',
    (value) => {
      expect(toListedTool(value)).toBeNull();
    },
  );
});

describe('resultText', () => {
  const textOf = (result: unknown) => resultText(toolResultSchema.parse(result));

  it.each([
    [{}, '(no content)'],
    [{ content: [] }, '(no content)'],
    [{ structuredContent: { a: 1 } }, '{"a":1}'],
    [{ content: [{ type: 'text', text: '{ "a": 1 }' }], structuredContent: { a: 1 } }, '{ "a": 1 }'],
    [{ content: [{ type: 'text', text: 'one' }], structuredContent: { a: 1 } }, 'one\n{"a":1}'],
    [{ content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] }, '[audio, audio/wav, 3 bytes: not shown]'],
    [{ content: [{ type: 'resource_link', name: 'n', uri: 'file:///a' }] }, '[resource n: file:///a]'],
    [{ content: [{ type: 'resource', resource: { uri: 'file:///a', text: 'inner' } }] }, 'inner'],
    [
      { content: [{ type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA', mimeType: 'a/b' } }] },
      '[resource file:///a, a/b, 3 bytes: not shown]',
    ],
    [{ content: [{ type: 'hologram', beams: 3 }] }, '[hologram: not shown]'],
  ])('reads %j', (result, text) => {
    expect(textOf(result)).toBe(text);
  });
});
