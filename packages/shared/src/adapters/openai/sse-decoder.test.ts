import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SseDecoder, type SseEvent } from './sse-decoder.ts';

function decode(text: string, cuts: readonly number[] = []): SseEvent[] {
  const bytes = Buffer.from(text);
  const edges = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  const decoder = new SseDecoder();
  const events = edges.flatMap((edge, index) => decoder.push(bytes.subarray(edge, edges[index + 1] ?? bytes.length)));
  return [...events, ...decoder.end()];
}

describe('server-sent events', () => {
  test.each<[string, string, SseEvent[]]>([
    ['one', 'data: a\n\n', [{ name: '', data: 'a' }]],
    ['without the space', 'data:a\n\n', [{ name: '', data: 'a' }]],
    ['with one space only taken', 'data:  a\n\n', [{ name: '', data: ' a' }]],
    ['with a name, in CRLF', 'event: error\r\ndata: a\r\n\r\n', [{ name: 'error', data: 'a' }]],
    ['in CR alone', 'event: error\rdata: a\r\r', [{ name: 'error', data: 'a' }]],
    ['of several lines', 'data: a\r\ndata: b\r\n\r\n', [{ name: '', data: 'a\nb' }]],
    ['a name ends with its event', 'event: x\n\ndata: a\n\n', [{ name: '', data: 'a' }]],
    ['with comments and other fields', ': hi\nid: 1\nretry: 5\ndatum: x\ndata: a\n\n', [{ name: '', data: 'a' }]],
    [
      'with an empty value',
      'data\n\ndata:\n\n',
      [
        { name: '', data: '' },
        { name: '', data: '' },
      ],
    ],
    [
      'without the last blank line',
      'data: a\n\ndata: b',
      [
        { name: '', data: 'a' },
        { name: '', data: 'b' },
      ],
    ],
    ['behind a byte order mark', '\uFEFFdata: a\n\n', [{ name: '', data: 'a' }]],
    ['none', '', []],
  ])('%s', (_name, text, expected) => {
    expect(decode(text)).toEqual(expected);
    const everywhere = Array.from({ length: Buffer.byteLength(text) }, (_, index) => index);
    expect(decode(text, everywhere)).toEqual(expected);
  });

  test('are the same wherever they are cut', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((value) => `data: ${value.replaceAll(/[\r\n]/g, '')}`),
      fc.constantFrom('', 'event: e', ': comment', 'data', 'data:x:y'),
    );
    const text = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r'))).map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(2000)), (whole, cuts) => {
        expect(decode(whole, cuts)).toEqual(decode(whole));
      }),
    );
  });

  test('of a megabyte are searched once, though they come in small pieces', () => {
    const decoder = new SseDecoder();
    const piece = Buffer.from('x'.repeat(64));
    const before = performance.now();
    decoder.push(Buffer.from('data: '));
    for (let count = 0; count < 16_384; count += 1) decoder.push(piece);
    expect(decoder.end()[0]?.data).toHaveLength(1_048_576);
    expect(performance.now() - before).toBeLessThan(1000);
  });
});
