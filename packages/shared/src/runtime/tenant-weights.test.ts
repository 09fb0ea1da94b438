import { describe, expect, test } from 'vitest';
import { parseTenantWeights } from './tenant-weights.ts';

describe('the weights of tenants', () => {
  test('are pairs', () => {
    const { weights, problem } = parseTenantWeights('acme=3, a.b@c-d=0.5');
    expect(problem).toBeNull();
    expect([...weights]).toEqual([
      ['acme', 3],
      ['a.b@c-d', 0.5],
    ]);
  });

  test.each([
    'acme',
    'acme=',
    '=3',
    'acme=0',
    'acme=0.0',
    'acme=-1',
    'acme=x',
    'acme=3,',
    'acme=3,acme=4',
    'a b=1',
    'acme=10000',
  ])('are refused as a whole: %s', (value) => {
    expect(parseTenantWeights(value)).toEqual({ weights: new Map(), problem: expect.stringContaining('acme=3') });
  });
});
