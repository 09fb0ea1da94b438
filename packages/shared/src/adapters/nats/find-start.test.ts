import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId } from '../../domain/event.ts';
import { findStart } from './find-start.ts';
import type { LogMessage } from './log-message.ts';

/** A session's messages in a stream that has others in between. */
const logs = fc
  .array(
    fc.record({
      seqStep: fc.integer({ min: 1, max: 50 }),
      tokenStep: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 2),
      count: fc.integer({ min: 1, max: 40 }),
    }),
    { minLength: 1, maxLength: 200 },
  )
  .map((steps) => {
    let [seq, token, n] = [0, 1, 0];
    return steps.map(({ seqStep, tokenStep, count }): LogMessage => {
      seq += seqStep;
      n = tokenStep === 0 ? n + count : count;
      token += tokenStep;
      return { seq, events: [], lastId: eventId(token, n), deleted: false };
    });
  });

async function look(log: readonly LogMessage[], after: number) {
  let looks = 0;
  const next = async (seq: number) => {
    looks += 1;
    return log.find((message) => message.seq >= seq) ?? null;
  };
  const start = await findStart(next, after, log.at(-1)!);
  return { start, looks };
}

describe('the start of a replay', () => {
  test('misses nothing and reads little too much, wherever it is', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.integer({ min: -1, max: 3 }), async (log, pick, off) => {
        const after = log[pick % log.length]!.lastId + off;
        fc.pre(after < log.at(-1)!.lastId);
        const { start, looks } = await look(log, after);
        const first = log.findIndex(({ lastId }) => lastId > after);
        expect(start).toBeLessThanOrEqual(log[first]!.seq);
        const tooEarly = log.slice(0, first).filter(({ seq }) => seq >= start).length;
        expect(tooEarly).toBeLessThanOrEqual(64);
        expect(looks).toBeLessThan(30);
      }),
    );
  });

  test('is found with few looks in a long log of one token', async () => {
    const log = Array.from({ length: 20_000 }, (_, n): LogMessage => {
      return { seq: 3 * n + 1, events: [], lastId: eventId(4, n + 1), deleted: false };
    });
    for (const after of [1, 63, 64, 9_999, 15_432, 19_998]) {
      const { start, looks } = await look(log, eventId(4, after));
      expect(start).toBeLessThanOrEqual(3 * after + 1);
      expect(start).toBeGreaterThan(3 * (after - 64) - 3);
      expect(looks).toBeLessThan(6);
    }
  });

  test('is earlier than need be where the server asked does not know the newest messages yet', async () => {
    const log = Array.from({ length: 1_000 }, (_, n): LogMessage => {
      return { seq: n + 1, events: [], lastId: eventId(4, n + 1), deleted: false };
    });
    const known = log.slice(0, 400);
    const next = async (seq: number) => known.find((message) => message.seq >= seq) ?? null;
    const start = await findStart(next, eventId(4, 700), log.at(-1)!);
    expect(start).toBeLessThanOrEqual(701);
  });

  test('is the first message for a client that has nothing', async () => {
    const log: LogMessage[] = [{ seq: 9, events: [], lastId: eventId(1, 3), deleted: false }];
    for (const after of [-1, 0, 5]) expect((await look(log, after)).start).toBeLessThanOrEqual(9);
  });
});
