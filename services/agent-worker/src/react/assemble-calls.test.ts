import type { ModelChunk } from '@turnwire/shared/ports/language-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCallAssembler, parseArguments } from './assemble-calls.ts';

type Sent = Partial<Omit<Extract<ModelChunk, { type: 'tool_call' }>, 'type'>>;

function assemble(...fragments: readonly Sent[]) {
  const assembler = createCallAssembler();
  for (const fragment of fragments) {
    assembler.add({ type: 'tool_call', index: null, id: null, name: null, arguments: '', ...fragment });
  }
  return assembler.calls();
}

const call = (id: string | null, name: string, args: object = {}) => ({ id, name, arguments: args, invalid: null });

describe('fragments of tool calls', () => {
  test.each<[string, readonly Sent[], readonly object[]]>([
    [
      'interleaved by index (OpenAI)',
      [
        { index: 0, id: 'a', name: 'f' },
        { index: 1, id: 'b', name: 'g' },
        { index: 0, arguments: '{"x"' },
        { index: 1, arguments: '{"y":' },
        { index: 0, arguments: ':1}' },
        { index: 1, arguments: '2}' },
      ],
      [call('a', 'f', { x: 1 }), call('b', 'g', { y: 2 })],
    ],
    [
      'parallel, all with index 0 and ids of their own (Gemini)',
      [
        { index: 0, id: 'a', name: 'f', arguments: '{"x":1}' },
        { index: 0, id: 'b', name: 'f', arguments: '{"x":2}' },
      ],
      [call('a', 'f', { x: 1 }), call('b', 'f', { x: 2 })],
    ],
    [
      'parallel, all with index 0, in pieces and without ids',
      [
        { index: 0, name: 'f', arguments: '{"x":' },
        { index: 0, arguments: '1}' },
        { index: 0, name: 'g', arguments: '{"x":2}' },
      ],
      [call(null, 'f', { x: 1 }), call(null, 'g', { x: 2 })],
    ],
    [
      'without any index, arguments split over deltas',
      [{ id: 'a', name: 'f', arguments: '{"x"' }, { arguments: ':1' }, { arguments: '}' }],
      [call('a', 'f', { x: 1 })],
    ],
    [
      'parallel, without any index',
      [{ id: 'a', name: 'f', arguments: '{' }, { arguments: '}' }, { id: 'b', name: 'g', arguments: '{}' }],
      [call('a', 'f'), call('b', 'g')],
    ],
    [
      'with empty ids',
      [
        { index: 0, id: '', name: 'f', arguments: '{}' },
        { index: 1, id: '', name: 'g', arguments: '{}' },
      ],
      [call(null, 'f'), call(null, 'g')],
    ],
    [
      'that repeat the id each time',
      [
        { index: 0, id: 'a', name: 'f', arguments: '{"x"' },
        { index: 0, id: 'a', name: 'f', arguments: ':1}' },
      ],
      [call('a', 'f', { x: 1 })],
    ],
    [
      'that repeat the name each time, without an id',
      [
        { index: 0, name: 'f' },
        { index: 0, name: 'f', arguments: '{"x":1}' },
        { index: 0, name: 'f' },
      ],
      [call(null, 'f', { x: 1 })],
    ],
    [
      'whose id and name come late',
      [{ index: 0 }, { index: 0, id: 'a' }, { index: 0, name: 'f', arguments: '{}' }],
      [call('a', 'f')],
    ],
    ['without arguments', [{ index: 0, id: 'a', name: 'f' }], [call('a', 'f')]],
    ['with metadata alone, after a call', [{ id: 'a', name: 'f', arguments: '{}' }, {}], [call('a', 'f')]],
    ['with metadata alone, and no call', [{ index: 0 }], []],
  ])('%s', (_, fragments, expected) => {
    expect(assemble(...fragments)).toEqual(expected);
  });

  test('with broken JSON are a call that cannot be run, beside those that can', () => {
    const [broken, whole] = assemble(
      { index: 0, id: 'a', name: 'f', arguments: '{"{"tagIds"' },
      { index: 1, id: 'b', name: 'g', arguments: '{}' },
    );
    expect(broken).toMatchObject({
      id: 'a',
      name: 'f',
      arguments: {},
      invalid: expect.stringContaining('no valid JSON'),
    });
    expect(whole).toEqual(call('b', 'g'));
  });

  test('cut anywhere and interleaved anyhow give the same calls', () => {
    const asked = fc.array(
      fc.record({ name: fc.constantFrom('f', 'g'), args: fc.dictionary(fc.string(), fc.jsonValue()) }),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(asked, fc.infiniteStream(fc.nat(100)), (wanted, picks) => {
        const pick = (below: number) => (picks.next().value ?? 0) % below;
        const queues = wanted.map(({ name, args }, index): Sent[] => [
          { index, id: `id_${index}`, name },
          ...[...JSON.stringify(args)].map((json) => ({ index, arguments: json })),
        ]);
        const fragments: Sent[] = [];
        for (const queue of queues) fragments.push(...queue.splice(0, 1)); // calls are announced in order
        for (
          let open = queues.filter(({ length }) => length > 0);
          open.length > 0;
          open = open.filter((q) => q.length > 0)
        ) {
          fragments.push(...(open[pick(open.length)] ?? []).splice(0, 1 + pick(5)));
        }
        const parsed = wanted.map(({ name, args }, i) => call(`id_${i}`, name, JSON.parse(JSON.stringify(args))));
        expect(assemble(...fragments)).toEqual(parsed);
      }),
    );
  });
});

describe('arguments', () => {
  test.each([
    ['', {}],
    ['  \n', {}],
    ['{}', {}],
    ['{"a":[1]}', { a: [1] }],
  ])('%j are %j', (json, expected) => {
    expect(parseArguments(json)).toEqual({ arguments: expected, invalid: null });
  });

  test.each(['[1]', '"{}"', 'null', '3', '{', '{"a":1}}', 'undefined'])('%j cannot be used', (json) => {
    expect(parseArguments(json)).toMatchObject({ arguments: {}, invalid: expect.any(String) });
  });
});
