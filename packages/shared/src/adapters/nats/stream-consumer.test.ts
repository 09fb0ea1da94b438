import { expect, test } from 'vitest';
import { readPlace } from './stream-consumer.ts';

test.each([
  ['$JS.ACK.turnwire.dL96mAew.1.812.7.1796100123664665600.93', { seq: 812, delivered: 7, pending: 93 }],
  ['$JS.ACK._.hash.turnwire.dL96mAew.1.812.7.1796100123664665600.93', { seq: 812, delivered: 7, pending: 93 }],
  ['$JS.ACK.hub.hash.turnwire.dL96mAew.1.812.7.1796100123664665600.93.r4nd', { seq: 812, delivered: 7, pending: 93 }],
  ['', null],
  ['_INBOX.a.b', null],
])('the place of a message is read from %s', (reply, place) => {
  expect(readPlace(reply)).toEqual(place);
});
