import type { Clock } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import { withDeadline } from '../deadline.ts';
import { stringArgument } from '../string-argument.ts';
import { ToolError } from '../tool-error.ts';
import { findPlace } from './find-place.ts';
import type { OpenMeteo, Weather } from './open-meteo.ts';
import { recordedWeather } from './recorded-weather.ts';

const LIMIT_MS = 10_000;
/** With a recording to fall back on nobody waits for a network that is not there, and not for every call. */
const FAIL_FAST_MS = 2_000;
const UNREACHABLE_FOR_MS = 60_000;

const definition = {
  name: 'get_weather',
  description: 'The weather of now at a place: temperature, conditions, humidity and wind.',
  parameters: {
    type: 'object',
    properties: { location: { type: 'string', description: 'A city, such as "Paris, France" or "杭州".' } },
    required: ['location'],
    additionalProperties: false,
  },
};

export interface GetWeatherDependencies {
  readonly service: OpenMeteo;
  readonly clock: Clock;
  /** Whether a recording is answered, marked as such, when the service cannot be reached. */
  readonly recorded: boolean;
}

export function createGetWeatherTool({ service, clock, recorded }: GetWeatherDependencies): Tool {
  let unreachableUntil = 0;
  const ask = (location: string, signal: AbortSignal) => {
    const limitMs = recorded ? FAIL_FAST_MS : LIMIT_MS;
    const message = `The weather service did not answer within ${limitMs / 1000} seconds.`;
    return withDeadline({ clock, signal, limitMs, message }, (limited) => weatherIn(service, location, limited));
  };
  const askOrRecall = async (location: string, signal: AbortSignal) => {
    if (clock.now() < unreachableUntil) return recordedWeather(location);
    try {
      return await ask(location, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      unreachableUntil = clock.now() + UNREACHABLE_FOR_MS;
      return recordedWeather(location);
    }
  };
  return {
    definition,
    idempotent: true,
    timeoutMs: null,
    async run(args, { signal }) {
      const location = stringArgument(args, 'location');
      const weather = await (recorded ? askOrRecall : ask)(location, signal);
      if (weather === null) throw new ToolError(`There is no place called "${location}"; try the city's name alone.`);
      return JSON.stringify(weather);
    },
  };
}

async function weatherIn(service: OpenMeteo, location: string, signal: AbortSignal): Promise<Weather | null> {
  const place = await findPlace(service, location, signal);
  return place === null ? null : service.weatherAt(place, signal);
}
