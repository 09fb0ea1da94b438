import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairLine } from './fair-line.ts';

const anybody = () => true;

/** All items in the order in which they are taken. */
function drain<T>(line: FairLine<T>, mayHave: (tenantId: string) => boolean = anybody): T[] {
  const taken: T[] = [];
  for (;;) {
    const item = line.take(anybody, mayHave);
    if (item === undefined) return taken;
    taken.push(item);
  }
}

describe('a fair line', () => {
  test('keeps the order of one tenant', () => {
    const line = new FairLine<number>(() => 1);
    for (let i = 0; i < 3000; i += 1) line.push('acme', i);
    expect(drain(line)).toEqual(Array.from({ length: 3000 }, (_, i) => i));
  });

  test('lets a tenant that comes late start among the next few', () => {
    const line = new FairLine<string>(() => 1);
    for (let i = 0; i < 300; i += 1) line.push('flood', `flood ${i}`);
    for (let i = 0; i < 100; i += 1) line.take(anybody, anybody);
    line.push('late', 'late 0');
    line.push('late', 'late 1');
    const next = drain(line).slice(0, 6);
    expect(next.indexOf('late 0')).toBeLessThan(2);
    expect(next.indexOf('late 1')).toBeLessThan(5);
  });

  test('does not owe a tenant for the time in which it wanted nothing', () => {
    const line = new FairLine<string>(() => 1);
    for (let i = 0; i < 50; i += 1) line.push('flood', 'flood');
    for (let i = 0; i < 40; i += 1) line.take(anybody, anybody);
    for (let i = 0; i < 10; i += 1) line.push('late', 'late');
    expect(
      drain(line)
        .slice(0, 10)
        .filter((tenant) => tenant === 'late').length,
    ).toBeLessThanOrEqual(6);
  });

  test('gives by weight', () => {
    const line = new FairLine<string>((tenantId) => (tenantId === 'acme' ? 3 : 1));
    for (let i = 0; i < 100; i += 1) for (const tenant of ['acme', 'other']) line.push(tenant, tenant);
    const acme = drain(line)
      .slice(0, 80)
      .filter((tenant) => tenant === 'acme').length;
    expect(acme).toBeGreaterThanOrEqual(58);
    expect(acme).toBeLessThanOrEqual(62);
  });

  test('passes over a tenant that may have none now, and loses nothing of it', () => {
    const line = new FairLine<string>(() => 1);
    for (const tenant of ['acme', 'acme', 'other']) line.push(tenant, tenant);
    expect(drain(line, (tenantId) => tenantId !== 'acme')).toEqual(['other']);
    expect(drain(line)).toEqual(['acme', 'acme']);
  });

  test('hands out each item that is wanted once, in the order of its tenant', () => {
    const tenants = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(tenants, { maxLength: 60 }), fc.func(fc.boolean()), fc.nat(60), (pushes, isBad, early) => {
        const line = new FairLine<{ tenant: string; n: number }>((tenant) => tenant.charCodeAt(0) - 96);
        const isWanted = ({ n }: { n: number }) => !isBad(n);
        const taken: ({ tenant: string; n: number } | undefined)[] = [];
        for (const [n, tenant] of pushes.entries()) {
          line.push(tenant, { tenant, n });
          if (n % 3 === early % 3) taken.push(line.take(isWanted, anybody));
        }
        for (const _ of pushes) taken.push(line.take(isWanted, anybody));
        for (const tenant of ['a', 'b', 'c']) {
          const wanted = pushes.flatMap((pushed, n) => (pushed === tenant && !isBad(n) ? [n] : []));
          expect(taken.flatMap((item) => (item?.tenant === tenant ? [item.n] : []))).toEqual(wanted);
        }
      }),
    );
  });
});
