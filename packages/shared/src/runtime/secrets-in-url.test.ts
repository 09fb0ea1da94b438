import { expect, test } from 'vitest';
import { secretsInUrl } from './secrets-in-url.ts';

test.each([
  ['redis://127.0.0.1:6379/1', []],
  ['rediss://:s3cret-word@cache:6380', ['s3cret-word']],
  ['redis://default:p%40ss%2Fword@cache', ['p%40ss%2Fword', 'p@ss/word']],
  ['nats://a-token@one:4222,nats://user:other-word@two:4222', ['a-token', 'other-word']],
  ['mongodb://app:hunter2hunter@m1:27017,m2:27017/turnwire?replicaSet=rs0', ['hunter2hunter']],
  ['mongodb+srv://app:100%@cluster.example.org/turnwire', ['100%']],
])('%s hides %j', (url, secrets) => {
  expect(secretsInUrl(url)).toEqual(secrets);
});
