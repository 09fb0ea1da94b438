import { z } from 'zod';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { readBody } from '../read-body.ts';
import { ToolError } from '../tool-error.ts';
import { compassOf, conditionsOf } from './weather-code.ts';

export interface Place {
  readonly name: string;
  readonly country: string;
  readonly countryCode: string;
  readonly region: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** The weather at a place, ready to be read. */
export interface Weather {
  readonly place: string;
  readonly temperature: string;
  readonly feelsLike: string;
  readonly conditions: string;
  readonly humidity: string;
  readonly wind: string;
  /** Local time, with its zone. */
  readonly observedAt: string;
}

/** The two services of Open-Meteo, which need no key. */
export interface OpenMeteo {
  /** At most ten places of that name, the best known first. */
  search(name: string, signal: AbortSignal): Promise<readonly Place[]>;
  weatherAt(place: Place, signal: AbortSignal): Promise<Weather>;
}

export interface OpenMeteoUrls {
  readonly geocoding: string;
  readonly forecast: string;
}

export const OPEN_METEO_URLS: OpenMeteoUrls = {
  geocoding: 'https://geocoding-api.open-meteo.com/v1/search',
  forecast: 'https://api.open-meteo.com/v1/forecast',
};

const MAX_BYTES = 200_000;

const placesSchema = z.object({
  results: z
    .array(
      z.object({
        name: z.string(),
        country: z.string().default(''),
        country_code: z.string().default(''),
        admin1: z.string().default(''),
        latitude: z.number(),
        longitude: z.number(),
      }),
    )
    .default([]),
});

const forecastSchema = z.object({
  timezone: z.string(),
  current: z.object({
    time: z.string(),
    temperature_2m: z.number(),
    apparent_temperature: z.number(),
    relative_humidity_2m: z.number(),
    weather_code: z.number(),
    wind_speed_10m: z.number(),
    wind_direction_10m: z.number(),
  }),
});

export function createOpenMeteo(fetch: GuardedFetch['fetch'], urls: OpenMeteoUrls): OpenMeteo {
  return {
    async search(name, signal) {
      const language = /\p{Script=Han}/u.test(name) ? 'zh' : 'en';
      const query = { name, count: '10', language, format: 'json' };
      const { results } = await getJson(fetch, urls.geocoding, query, placesSchema, signal);
      return results.map(({ country_code, admin1, ...place }) => ({
        ...place,
        countryCode: country_code,
        region: admin1,
      }));
    },
    async weatherAt(place, signal) {
      const query = {
        latitude: String(place.latitude),
        longitude: String(place.longitude),
        current: Object.keys(forecastSchema.shape.current.shape)
          .filter((name) => name !== 'time')
          .join(','),
        timezone: 'auto',
      };
      return toWeather(place, await getJson(fetch, urls.forecast, query, forecastSchema, signal));
    },
  };
}

function toWeather({ name, region, country }: Place, { current, timezone }: z.infer<typeof forecastSchema>): Weather {
  const parts = [name, region, country].filter((part, index, all) => part !== '' && all.indexOf(part) === index);
  return {
    place: parts.join(', '),
    temperature: `${current.temperature_2m} °C`,
    feelsLike: `${current.apparent_temperature} °C`,
    conditions: conditionsOf(current.weather_code),
    humidity: `${current.relative_humidity_2m} %`,
    wind: `${current.wind_speed_10m} km/h from ${compassOf(current.wind_direction_10m)}`,
    observedAt: `${current.time} (${timezone})`,
  };
}

async function getJson<T>(
  fetch: GuardedFetch['fetch'],
  endpoint: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await fetch(url, { signal, headers: { accept: 'application/json' } });
  const { bytes } = await readBody(response, MAX_BYTES, signal);
  if (!response.ok) throw new ToolError(`The weather service answered ${response.status}.`);
  const parsed = schema.safeParse(parseJson(new TextDecoder().decode(bytes)));
  if (!parsed.success) throw new ToolError('The weather service answered something that is not a weather report.');
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
