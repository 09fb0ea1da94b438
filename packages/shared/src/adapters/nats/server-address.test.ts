import { describe, expect, test } from 'vitest';
import { readServerAddress } from './server-address.ts';

describe('the address of the server', () => {
  test.each([
    ['nats://localhost', { servers: ['localhost:4222'] }],
    ['10.0.0.1:4333', { servers: ['10.0.0.1:4333'] }],
    ['nats://[::1]:4333', { servers: ['[::1]:4333'] }],
    ['nats://a:1, nats://b', { servers: ['a:1', 'b:4222'] }],
    ['nats://ann:s%40crt@a:1,nats://b:2', { servers: ['a:1', 'b:2'], user: 'ann', pass: 's@crt' }],
    ['nats://t0ken@a', { servers: ['a:4222'], token: 't0ken' }],
    ['tls://a', { servers: ['a:4222'], tls: {} }],
  ])('%s', (url, expected) => {
    expect(readServerAddress(url)).toEqual(expected);
  });

  test('is not shown when it can not be read: it may hold a password', () => {
    expect(() => readServerAddress('nats://ann:secret@:4222:5')).toThrow(/^(?!.*secret).*nats:\/\/host:4222/);
  });
});
