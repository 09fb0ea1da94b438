import { eventId } from '@turnwire/shared/domain/event';
import { newSession, type Session } from '@turnwire/shared/domain/session';
import { describe, expect, test } from 'vitest';
import { cursorOf, knownTail, viewFrom } from './stream-start.ts';

test.each([
  [undefined, undefined, null],
  ['', '', null],
  ['', '5', 5],
  [undefined, '5', 5],
  ['7', '5', 7],
  ['7', 'junk', 7],
  ['0', '5', 0],
  ['-1', undefined, 0],
  [undefined, '-1', 0],
  [String(eventId(3, 4)), undefined, eventId(3, 4)],
])('Last-Event-ID %j and after %j mean %j', (header, after, cursor) => {
  expect(cursorOf(header, after)).toBe(cursor);
});

test.each(['abc', '-2', '1.5', '1e3', ' 1', '0x1', '99999999999999999', 'NaN'])('%j is junk', (value) => {
  expect(() => cursorOf(value, undefined)).toThrow(/Last-Event-ID/);
  expect(() => cursorOf(undefined, value)).toThrow(/after/);
});

function session(patch: Partial<Session>): Session {
  const base = newSession({ id: 's', tenantId: 't', userId: 'u', agentId: 'a', metadata: {} }, 1);
  return { ...base, ...patch };
}

describe('a stream', () => {
  const lease = { token: 2, holder: null, claimedAt: 0, expiresAt: 0 };
  const rested = session({ lease, lastEventId: eventId(2, 9) });
  const held = session({ lease: { ...lease, holder: 'w' }, lastEventId: eventId(2, 1) });

  test.each([
    ['from now on without a cursor', rested, null, true],
    ['at the cursor', rested, eventId(1, 3), false],
    ['at the tail', rested, eventId(2, 9), false],
    ['at the cursor where the last holder let go in the middle of a step', rested, eventId(2, 500), false],
    ['from now on beyond the token', held, eventId(3, 0), true],
    ['at the cursor while the holder is ahead of the store', held, eventId(2, 500), false],
  ])('begins %s', (_name, given, cursor, fresh) => {
    const view = viewFrom(given, cursor, null);
    expect(view.fresh).toBe(fresh);
    expect(view.cursor).toBe(fresh ? given.lastEventId : cursor);
  });

  test('from now on has what a commit left in the outbox, since nobody was told of it', () => {
    const event = { type: 'cancelled', turnId: 'x', data: { reason: '' }, ts: 1 } as const;
    const outbox = [
      { id: 8, event },
      { id: 9, event },
    ];
    expect(viewFrom(session({ lastEventId: 9, outbox }), null, null).cursor).toBe(7);
  });

  test('expects no event in the log that may still be in the outbox', () => {
    const event = { type: 'cancelled', turnId: 'x', data: { reason: '' }, ts: 1 } as const;
    expect(knownTail(rested)).toBe(eventId(2, 9));
    expect(knownTail(session({ lastEventId: 5, outbox: [{ id: 5, event }] }))).toBeNull();
    expect(knownTail(session({ lastEventId: 5, outbox: [{ id: null, event }] }))).toBe(5);
  });
});
