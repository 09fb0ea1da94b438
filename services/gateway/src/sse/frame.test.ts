import type { SessionEvent } from '@turnwire/shared/domain/event';
import { expect, test } from 'vitest';
import { announcementFrame, Frame, GREETING, gapFrame, HEARTBEAT } from './frame.ts';

const event: SessionEvent = {
  id: 7,
  prev: 6,
  turnId: 't',
  ts: 1,
  type: 'turn.delta',
  data: { step: 1, text: 'a\n\r\u2028\x85b' },
};

test('an event is an id, a type and one line of data', () => {
  const lines = new Frame(event).text.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  expect(lines).toEqual(['id: 7', 'event: turn.delta', expect.stringMatching(/^data: \{.*\}$/), '', '']);
  expect(JSON.parse(lines[2]?.slice(6) ?? '')).toEqual({
    turnId: 't',
    ts: 1,
    prev: 6,
    step: 1,
    text: 'a\n\r\u2028\x85b',
  });
});

test('its text is made once', () => {
  const frame = new Frame(event);
  expect(frame.text).toBe(frame.text);
  expect(frame.endsTurn).toBe(false);
});

test.each(['done', 'error', 'cancelled', 'interrupt'] as const)('%s ends the stream of its turn', (type) => {
  const data = { code: 'x', message: null, usage: null, reason: '' };
  expect(new Frame({ ...event, type, data } as unknown as SessionEvent).endsTurn).toBe(true);
});

test('what is not in the log has no id', () => {
  const queued = announcementFrame({ type: 'turn.queued', turnId: 't', ts: 1, data: { position: 2 } });
  expect(queued).toBe('event: turn.queued\ndata: {"turnId":"t","ts":1,"position":2}\n\n');
  expect(gapFrame({ turnId: null, ts: 1, from: 2, to: 3 })).toMatch(/^event: gap\ndata: \{.*\}\n\n$/);
});

test('comments dispatch nothing, not even in decoders that take a blank line for an event', () => {
  for (const text of [GREETING, HEARTBEAT]) {
    expect(text).toMatch(/^: .*\n/);
    expect(text).not.toContain('\n\n');
    expect(text.endsWith('\n')).toBe(true);
  }
});
