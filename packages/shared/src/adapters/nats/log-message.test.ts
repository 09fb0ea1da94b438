import { describe, expect, test } from 'vitest';
import { eventId, type NumberedEvent } from '../../domain/event.ts';
import { DELETED, largeBatch, readLogMessage, takeBatch } from './log-message.ts';

function delta(n: number, text = `${n} `): NumberedEvent {
  return { type: 'turn.delta', turnId: 'turn_1', data: { step: 1, text }, ts: 1_000 + n, id: eventId(1, n) };
}

const many = Array.from({ length: 600 }, (_, n) => delta(n + 1));

describe('a batch', () => {
  test('takes at most 256 events, each with the id before it', () => {
    const batch = takeBatch(many, eventId(1, 0), 1_000_000);
    expect(batch?.lastId).toBe(eventId(1, 256));
    expect(readLogMessage(7, batch?.payload ?? '')).toEqual({
      seq: 7,
      events: many.slice(0, 256).map((event) => ({ ...event, prev: event.id - 1 })),
      lastId: eventId(1, 256),
      deleted: false,
    });
  });

  test('keeps within its bytes, to the byte', () => {
    const events = [delta(1, '你好🦀'), delta(2), delta(3)];
    const bytes = events.map((event) => Buffer.byteLength(JSON.stringify({ ...event, prev: event.id - 1 })));
    const two = 2 + bytes[0]! + 1 + bytes[1]!;
    expect(takeBatch(events, eventId(1, 0), two)?.lastId).toBe(eventId(1, 2));
    expect(Buffer.byteLength(takeBatch(events, eventId(1, 0), two)?.payload ?? '')).toBe(two);
    expect(takeBatch(events, eventId(1, 0), two - 1)?.lastId).toBe(eventId(1, 1));
  });

  test('is none when the first event is too large; then its data stays elsewhere', () => {
    const large = delta(1, 'x'.repeat(1_000));
    expect(takeBatch([large, delta(2)], 0, 500)).toBeNull();
    const { payload, lastId } = largeBatch(large, 5, [11, 12]);
    expect(lastId).toBe(large.id);
    const { data: _, ...rest } = large;
    expect(readLogMessage(1, payload)?.events).toEqual([{ ...rest, prev: 5, large: { parts: [11, 12] } }]);
  });
});

describe('a message of the log', () => {
  test('tells of the deletion', () => {
    expect(readLogMessage(3, DELETED)).toEqual({ seq: 3, events: [], lastId: 0, deleted: true });
  });

  test.each(['', '{', '7', '"other"', '{"id":1}', '[7]', '[{"id":"1"}]', '[null]'])('is not: %s', (payload) => {
    expect(readLogMessage(1, payload)).toBeNull();
  });
});
