import { expect, test } from 'vitest';
import type { Attempt, Repeatedly } from './atomic-write.ts';
import { inLine } from './line.ts';

const attempt: Attempt = { session: null, commit: async () => undefined, confirm: async () => undefined };
const once: Repeatedly = (work) => work(attempt);

test('work about one root goes one after the other, in order, about others at the same time', async () => {
  const line = inLine(once);
  const log: string[] = [];
  const work = (name: string) => async () => {
    log.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    log.push(`${name} ends`);
    return name;
  };
  const done = await Promise.all([line('a', work('a1')), line('a', work('a2')), line('b', work('b1'))]);
  expect(done).toEqual(['a1', 'a2', 'b1']);
  expect(log.filter((entry) => entry.startsWith('a'))).toEqual(['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends']);
  expect(log.indexOf('b1 begins')).toBeLessThan(log.indexOf('a1 ends'));
});

test('what fails does not hold up what comes after it', async () => {
  const line = inLine(once);
  const failed = line('a', () => Promise.reject(new Error('no')));
  const next = line('a', async () => 'yes');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('yes');
});

test('what is stuck holds the next one up for two seconds', async () => {
  const line = inLine(once);
  const stuck = Promise.withResolvers<string>();
  const first = line('a', () => stuck.promise);
  expect(await line('a', async () => 'next')).toBe('next');
  stuck.resolve('at last');
  expect(await first).toBe('at last');
});
