import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ReadLanes } from './read-lanes.ts';

describe('the lanes of reads', () => {
  test('let 32 read at once, and the others in the order in which they came', async () => {
    const lanes = new ReadLanes();
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const reads = Array.from({ length: 40 }, (_, n) =>
      lanes.run(() => {
        started.push(n);
        return new Promise<number>((resolve) => ends.push(() => resolve(n)));
      }),
    );
    await turnOfLoop();
    expect(started).toHaveLength(32);
    ends[7]?.();
    await turnOfLoop();
    expect(started.slice(32)).toEqual([32]);
    while (started.length < 40) {
      for (const end of ends.splice(0)) end();
      await turnOfLoop();
    }
    for (const end of ends) end();
    expect(await Promise.all(reads)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  test('fail those who wait behind a read that fails, and serve who comes later', async () => {
    const lanes = new ReadLanes();
    const fails: (() => void)[] = [];
    const reads = Array.from({ length: 40 }, () =>
      lanes.run(() => new Promise<never>((_, reject) => fails.push(() => reject(new Error('silent'))))),
    );
    const outcomes = Promise.allSettled(reads);
    fails[0]?.();
    await turnOfLoop();
    expect(fails).toHaveLength(32);
    expect(await lanes.run(async () => 'served')).toBe('served');
    for (const fail of fails) fail();
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(40).fill('rejected'));
    expect(await Promise.all(Array.from({ length: 50 }, (_, n) => lanes.run(async () => n)))).toHaveLength(50);
  });
});
