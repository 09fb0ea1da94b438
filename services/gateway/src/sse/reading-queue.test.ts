import { expect, test } from 'vitest';
import { ReadingQueue } from './reading-queue.ts';

const round = () => new Promise((resolve) => setImmediate(resolve));

test('readers go on in the order of their coming, one per round of the event loop', async () => {
  const queue = new ReadingQueue();
  const log: string[] = [];
  const read = async (name: string) => {
    for (let page = 1; page <= 3; page += 1) {
      await queue.admission();
      log.push(name + page);
    }
  };
  const readers = [read('a'), read('b'), read('c')];
  const sizes: number[] = [];
  while (log.length < 9) {
    await round();
    sizes.push(log.length);
  }
  await Promise.all(readers);
  expect(log).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  expect(Math.max(...sizes.map((size, n) => size - (sizes[n - 1] ?? 0)))).toBe(1);
});

test('one who comes when all have gone is let in as well', async () => {
  const queue = new ReadingQueue();
  await queue.admission();
  await round();
  await queue.admission();
});
