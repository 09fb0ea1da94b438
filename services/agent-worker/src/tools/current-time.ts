import type { Clock } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import { stringArgument } from './string-argument.ts';
import { ToolError } from './tool-error.ts';

const definition = {
  name: 'current_time',
  description: 'The current date, time and weekday, in UTC or in a given time zone.',
  parameters: {
    type: 'object',
    properties: {
      timeZone: { type: 'string', description: 'IANA name such as "Asia/Shanghai" or "Europe/Berlin". Default: UTC.' },
    },
    additionalProperties: false,
  },
};

export function createCurrentTimeTool(clock: Clock): Tool {
  return {
    definition,
    idempotent: true,
    timeoutMs: null,
    async run(args) {
      const timeZone = args.timeZone === undefined ? 'UTC' : stringArgument(args, 'timeZone');
      return JSON.stringify(timeIn(timeZone, clock.now()));
    },
  };
}

function timeIn(timeZone: string, now: number): { time: string; weekday: string; timeZone: string } {
  const format = formatFor(timeZone);
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const offset = part('timeZoneName').slice('GMT'.length) || '+00:00';
  const time = `${date}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  return { time, weekday: part('weekday'), timeZone: format.resolvedOptions().timeZone };
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      weekday: 'long',
      timeZoneName: 'longOffset',
    });
  } catch {
    throw new ToolError(`"${timeZone}" is not a time zone; use an IANA name such as Europe/Berlin.`);
  }
}
