import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { describe, expect, it } from 'vitest';
import { createCurrentTimeTool } from './current-time.ts';
import { callContext } from './fixtures/call-context.ts';

describe('current_time', () => {
  const at = (iso: string) => createCurrentTimeTool(createManualClock(Date.parse(iso)));

  it.each([
    [{}, '2026-03-01T00:30:05+00:00', 'Sunday', 'UTC'],
    [{ timeZone: 'Asia/Shanghai' }, '2026-03-01T08:30:05+08:00', 'Sunday', 'Asia/Shanghai'],
    [{ timeZone: 'America/St_Johns' }, '2026-02-28T21:00:05-03:30', 'Saturday', 'America/St_Johns'],
    [{ timeZone: 'europe/berlin' }, '2026-03-01T01:30:05+01:00', 'Sunday', 'Europe/Berlin'],
  ])('for %j it is %s', async (args, time, weekday, timeZone) => {
    const answer = JSON.parse(await at('2026-03-01T00:30:05Z').run(args, callContext()));
    expect(answer).toEqual({ time, weekday, timeZone });
    expect(Date.parse(answer.time)).toBe(Date.parse('2026-03-01T00:30:05Z'));
  });

  it('writes midnight as 00 and knows of summer time', async () => {
    const answer = await at('2026-07-01T22:00:00Z').run({ timeZone: 'Europe/Berlin' }, callContext());
    expect(JSON.parse(answer)).toMatchObject({ time: '2026-07-02T00:00:00+02:00', weekday: 'Thursday' });
  });

  it.each(['Mars/Olympus', 'Berlin', 'GMT+25'])('refuses %s with a sentence', async (timeZone) => {
    await expect(at('2026-03-01T00:30:05Z').run({ timeZone }, callContext())).rejects.toThrow(
      `"${timeZone}" is not a time zone; use an IANA name such as Europe/Berlin.`,
    );
  });
});
