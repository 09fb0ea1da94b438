import { expect, test } from 'vitest';
import type { Language } from './language.ts';
import { phraseOutcome } from './phrase-outcome.ts';

const phrase = (name: string, content: unknown, args: object = {}, language: Language = 'en') =>
  phraseOutcome(
    {
      id: 'c',
      name,
      arguments: JSON.stringify(args),
      content: typeof content === 'string' ? content : JSON.stringify(content),
    },
    language,
  );

test.each([
  [phrase('get_weather', { place: 'Paris', temperatureC: 21, conditions: 'sunny' }), 'Weather in Paris: 21 °C, sunny.'],
  [
    phrase('get_weather', { place: 'Paris', temperatureC: 21, recorded: true }),
    'Weather in Paris: 21 °C (recorded data, not live).',
  ],
  [
    phrase('get_weather', {
      location: { name: 'Rome' },
      current: { temperature_2m: 57, description: 'rain' },
      unit: 'fahrenheit',
    }),
    'Weather in Rome: 57 °F, rain.',
  ],
  [phrase('get_weather', 'mild', { city: 'Oslo' }), 'get_weather answered: mild'],
  [phrase('get_weather', 'It is 12 °C in Oslo.', { city: 'Oslo' }), 'It is 12 °C in Oslo.'],
  [phrase('get_weather', 'No place is called Xyz.', { city: 'Xyz' }), 'get_weather answered: No place is called Xyz.'],
  [
    phrase('calculator', 'A person changed the arguments to {"expression":"2*3"}.\n6', { expression: '2*2' }),
    '2*3 = 6',
  ],
  [
    phrase('x', 'The worker was lost while this tool ran. Whether it took effect is unknown; check.'),
    'Whether x took effect is not known: The worker was lost while this tool ran. Whether it took effect is unknown; check.',
  ],
  [
    phrase('x', 'The tool did not answer within 5000 ms and was stopped.'),
    'x failed: The tool did not answer within 5000 ms and was stopped.',
  ],
  [phrase('x', 'A person rejected this call: no'), 'x was not run, it was rejected: A person rejected this call: no'],
  [
    phrase('get_weather', { city: '杭州', temp: 18, condition: '多云', source: 'recorded' }, {}, 'zh'),
    '杭州的天气\uff1a18 °C\uff0c多云\uff08数据为预先录制\uff0c并非实时\uff09。',
  ],
  [phrase('calculator', '84', { expression: '12*7' }), '12*7 = 84'],
  [phrase('calculator', { result: 84 }, { expression: '12*7' }), '12*7 = 84'],
  [phrase('current_time', { iso: '2024-01-01T00:00:00Z', timezone: 'UTC' }), 'It is 2024-01-01T00:00:00Z in UTC.'],
  [
    phrase('current_time', '2024-01-01 09:00', { timezone: 'Asia/Tokyo' }, 'zh'),
    'Asia/Tokyo 现在是 2024-01-01 09:00。',
  ],
  [phrase('send_email', { sent: true }), 'send_email answered: {"sent":true}'],
  [phrase('send_email', ''), 'send_email is done.'],
  [
    phrase('x', 'The application was approved. Nothing was rejected.'),
    'x answered: The application was approved. Nothing was rejected.',
  ],
  [phrase('calculator', { error: 'division by zero' }), 'calculator failed: division by zero'],
  [phrase('x', { error: { message: 'permission denied' } }), 'x failed: permission denied'],
  [phrase('x', 'Error: no route'), 'x failed: Error: no route'],
  [phrase('x', 'The tool timed out after 5000 ms.'), 'x failed: The tool timed out after 5000 ms.'],
  [
    phrase('x', 'The person rejected this call. Reason: too late'),
    'x was not run, it was rejected: The person rejected this call. Reason: too late',
  ],
  [phrase('x', { status: 'rejected', reason: 'no' }, {}, 'zh'), 'x 没有执行\uff1a被拒绝\uff08no\uff09'],
  [phrase('x', 'Cancelled: the turn ended.'), 'x was cancelled: Cancelled: the turn ended.'],
  [
    phrase('x', 'The turn ended; whether it took effect is unknown.'),
    'Whether x took effect is not known: The turn ended; whether it took effect is unknown.',
  ],
])('%s', (said, expected) => {
  expect(said).toBe(expected);
});

test('a long result is cut', () => {
  expect(phrase('x', 'y'.repeat(5000)).length).toBeLessThan(400);
});
