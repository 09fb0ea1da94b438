import { describe, expect, test } from 'vitest';
import { fingerprintOf } from './idempotency.ts';

const of = (body: unknown, url = '/v1/sessions', method = 'POST') => fingerprintOf(method, url, body);

describe('a fingerprint', () => {
  test('is the same whatever the order of keys and the query', () => {
    expect(of({ a: 1, b: { c: [1, { d: 2, e: 3 }] } })).toBe(of({ b: { c: [1, { e: 3, d: 2 }] }, a: 1 }));
    expect(of({}, '/v1/x?y=1')).toBe(of({}, '/v1/x'));
    expect(of(undefined)).toBe(of({}));
    expect(of(null)).toBe(of({}));
    expect(of({})).toMatch(/^[0-9a-f]{64}$/);
  });

  test('differs for everything else', () => {
    const prints = [
      of({ a: 1 }),
      of({ a: '1' }),
      of({ a: [1] }),
      of({ a: { 0: 1 } }),
      of({ a: [1, 2] }),
      of({ a: [2, 1] }),
      of({ a: null }),
      of({ b: 1 }),
      of({}),
      of({ a: 1 }, '/v1/other'),
      of({ a: 1 }, '/v1/sessions', 'PUT'),
    ];
    expect(new Set(prints).size).toBe(prints.length);
  });
});
