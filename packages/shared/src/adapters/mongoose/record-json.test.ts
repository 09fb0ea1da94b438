import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeRecords, encodeRecords, recordOf } from './record-json.ts';
import type { Texts } from './texts.ts';

/** Texts in memory. */
function memoryTexts(): Texts {
  const stored = new Map<string, string>();
  return {
    async put(owner, texts) {
      for (const { name, bytes } of texts) stored.set(`${owner}/${name}`, JSON.parse(bytes.toString()));
    },
    get: async (owner, names) =>
      new Map(
        [...names].flatMap((name) => (stored.has(`${owner}/${name}`) ? [[name, stored.get(`${owner}/${name}`)!]] : [])),
      ),
    deleteAll: async () => stored.clear(),
    createIndexes: async () => undefined,
  };
}

const marked = fc.constantFrom('\0', '\0:', '\0\0', '\0:abc-1', 'plain', '\ud800');
const long = fc
  .tuple(marked, fc.integer({ min: 15_990, max: 120_000 }))
  .map(([start, length]) => start + 'é'.repeat(length));
const record = fc.dictionary(fc.oneof(fc.string(), marked), fc.oneof(fc.jsonValue(), marked, long), { maxKeys: 6 });

test('what is encoded is decoded to the same, long or short', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 6 }), async (records) => {
      const plain = JSON.parse(JSON.stringify(records)); // without -0, which JSON does not have
      const texts = memoryTexts();
      const { encoded, texts: long } = encodeRecords(plain);
      await texts.put('ses', long);
      expect(await decodeRecords(texts, 'ses', encoded)).toEqual(plain);
      const kept = encoded.reduce((sum, { json }) => sum + json.length, 0);
      expect(kept).toBeLessThan(long.length === 0 ? 200_001 : 400_000);
    }),
    { numRuns: 60 },
  );
});

test('a text that several records have is stored once', () => {
  const result = 'x'.repeat(150_000);
  const { encoded, texts } = encodeRecords([{ result }, { result }, { short: 'y' }]);
  expect(texts).toHaveLength(1);
  expect(encoded.map((one) => one.texts)).toEqual([[texts[0]!.name], [texts[0]!.name], []]);
});

test('a text that is missing is an error, not an empty string', async () => {
  const { encoded } = encodeRecords([{ result: 'x'.repeat(250_000) }]);
  await expect(decodeRecords(memoryTexts(), 'ses', encoded)).rejects.toThrow('is missing');
});

test('a small write is plain JSON', () => {
  const { encoded, texts } = encodeRecords([{ a: '\0:b' }]);
  expect([encoded, texts]).toEqual([[{ json: '{"a":"\\u0000:b"}' }], []]);
  expect(recordOf(encoded[0]!)).toEqual({ a: '\0:b' });
});
