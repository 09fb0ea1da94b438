import { expect, test } from 'vitest';
import { hostOf, isLoopback } from './loopback.ts';

test.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])(
  '%s is this machine',
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  '',
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '127.0.0.1.evil.test',
  'localhost.evil.test',
  'notlocalhost',
  '[::2]',
])('%j is not', (host) => {
  expect(isLoopback(host)).toBe(false);
});

test.each([
  ['localhost', 'localhost'],
  ['localhost:3000', 'localhost'],
  ['[::1]:3000', '[::1]'],
  ['http://localhost:5173', 'localhost'],
  ['https://evil.test', 'evil.test'],
  ['null', 'null'],
  ['', null],
  ['localhost:x', null],
  ['user@localhost:80:80', null],
  ['http://localhost/path', null],
])('the host of %j is %j', (authority, host) => {
  expect(hostOf(authority)).toBe(host);
});
