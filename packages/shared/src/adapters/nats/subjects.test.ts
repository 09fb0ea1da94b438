import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sessionSubjects, streamSubjects, subjectToken } from './subjects.ts';

/** Ids of every kind, often such as are alike. */
const ids = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({
    unit: fc.constantFrom('a', 'A', '.', '*', '>', ' ', '=', '~', '\0', '\ud800', '\udc00', '杭'),
    maxLength: 6,
  }),
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 70, maxLength: 90 }),
);

describe('subject tokens', () => {
  test('hold nothing that means something in a subject, and are not long', () => {
    fc.assert(
      fc.property(ids, (id) => {
        expect(subjectToken(id)).toMatch(/^[=~]?[A-Za-z0-9_-]{0,120}$/);
      }),
    );
    expect(subjectToken('')).not.toBe('');
  });

  test('are different for different ids', () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        fc.pre(a !== b);
        expect(subjectToken(a)).not.toBe(subjectToken(b));
      }),
      { numRuns: 2_000 },
    );
  });

  test('leave ids of our own as they are, for people who look into the stream', () => {
    expect(subjectToken('ses_019a3c5e7f00aabbccddeeff0011')).toBe('ses_019a3c5e7f00aabbccddeeff0011');
    expect(subjectToken('acme.eu')).toBe(`=${Buffer.from('acme.eu', 'utf16le').toString('base64url')}`);
    expect(subjectToken('x'.repeat(81))).not.toContain('x'.repeat(81));
  });
});

describe('the subjects of a session', () => {
  test('are stored, or heard, or neither', () => {
    const { log, large, heard, announcement, nudge } = sessionSubjects('p', { tenantId: 'acme', sessionId: 'ses_1' });
    const { stored, republish } = streamSubjects('p');
    expect([log, large].map((subject) => subject.split('.').with(2, '*').with(3, '*').join('.'))).toEqual(stored);
    expect(republish.src).toBe(stored[0]);
    expect(republish.dest.replace('{{wildcard(1)}}', 'acme').replace('{{wildcard(2)}}', 'ses_1')).toBe(
      heard.replace('*', 'events'),
    );
    expect(announcement).toBe(heard.replace('*', 'announcement'));
    expect(nudge).toBe('p.nudge.acme.ses_1');
  });
});
