import type { RequestListener } from 'node:http';
import type { Clock } from '@turnwire/shared/ports/clock';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { callContext } from '../fixtures/call-context.ts';
import { type LocalServer, startServer } from '../fixtures/local-server.ts';
import { createGuardedFetch } from '../guarded-fetch.ts';
import { createGetWeatherTool } from './get-weather.ts';
import { createOpenMeteo } from './open-meteo.ts';

const CURRENT = {
  time: '2026-05-01T12:15',
  temperature_2m: 21.4,
  apparent_temperature: 20.9,
  relative_humidity_2m: 55,
  weather_code: 61,
  wind_speed_10m: 12.3,
  wind_direction_10m: 350,
};

const PLACES: Readonly<Record<string, readonly object[]>> = {
  杭州: [{ name: '杭州', country: '中国', country_code: 'CN', admin1: '浙江', latitude: 30.29, longitude: 120.16 }],
  Paris: [
    { name: 'Paris', country: 'France', country_code: 'FR', admin1: 'Île-de-France', latitude: 48.85, longitude: 2.35 },
    {
      name: 'Paris',
      country: 'United States',
      country_code: 'US',
      admin1: 'Texas',
      latitude: 33.66,
      longitude: -95.56,
    },
  ],
};

describe('get_weather', () => {
  const guarded = createGuardedFetch({ permits: () => true });
  let server: LocalServer | null = null;
  afterEach(() => server?.close());
  afterAll(() => guarded.close());

  const asked: URL[] = [];
  const service: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    asked.push(url);
    const isSearch = url.pathname === '/search';
    const answer = isSearch
      ? { results: PLACES[url.searchParams.get('name') ?? ''] }
      : { timezone: 'Europe/Paris', current: CURRENT };
    response.end(JSON.stringify(answer));
  };
  async function weather(
    location: string,
    { listener = service, recorded = false, clock = realClock, signal }: Partial<Options> = {},
  ): Promise<string> {
    server = await startServer(listener);
    return toolAt(server.url, recorded, clock).run({ location }, callContext(signal));
  }
  interface Options {
    readonly listener: RequestListener;
    readonly recorded: boolean;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  }
  const toolAt = (url: string, recorded: boolean, clock: Clock) =>
    createGetWeatherTool({
      service: createOpenMeteo(guarded.fetch, { geocoding: `${url}/search`, forecast: `${url}/forecast` }),
      clock,
      recorded,
    });

  it('answers the weather of now in words', async () => {
    asked.length = 0;
    expect(JSON.parse(await weather('Paris'))).toEqual({
      place: 'Paris, Île-de-France, France',
      temperature: '21.4 °C',
      feelsLike: '20.9 °C',
      conditions: 'light rain',
      humidity: '55 %',
      wind: '12.3 km/h from N',
      observedAt: '2026-05-01T12:15 (Europe/Paris)',
    });
    expect(asked[1]?.searchParams.get('current')).toContain('temperature_2m,');
  });

  it.each([
    ['Paris, Texas', 'Paris, Texas, United States'],
    ['Paris, US', 'Paris, Texas, United States'],
    ['Paris, Nowhere', 'Paris, Île-de-France, France'],
    ['杭州', '杭州, 浙江, 中国'],
    ['杭州市', '杭州, 浙江, 中国'],
    ['杭州,浙江', '杭州, 浙江, 中国'],
  ])('understands %s as %s', async (location, place) => {
    expect(JSON.parse(await weather(location))).toMatchObject({ place });
  });

  it('asks for Chinese names in Chinese', async () => {
    asked.length = 0;
    await weather('杭州');
    expect(asked[0]?.searchParams.get('language')).toBe('zh');
  });

  it('says that there is no such place', async () => {
    await expect(weather('Atlantis')).rejects.toThrow('There is no place called "Atlantis"');
    await server?.close();
    await expect(weather('Atlantis', { recorded: true })).rejects.toThrow('There is no place called "Atlantis"');
  });

  it('never makes weather up by itself', async () => {
    const broken: RequestListener = (_request, response) => response.writeHead(503).end();
    await expect(weather('Paris', { listener: broken })).rejects.toThrow('The weather service answered 503.');
    const nonsense: RequestListener = (_request, response) => response.end('<html>');
    await server?.close();
    await expect(weather('Paris', { listener: nonsense })).rejects.toThrow('not a weather report');
    await server?.close();
    await expect(
      toolAt('http://127.0.0.1:1025', false, realClock).run({ location: 'Paris' }, callContext()),
    ).rejects.toThrow('cannot be reached');
  });

  it('answers what is live although it may fall back', async () => {
    expect(JSON.parse(await weather('Paris', { recorded: true }))).not.toHaveProperty('recorded');
  });

  it.each([
    ['Beijing', 'Beijing, China', '26 °C'],
    ['北京市', 'Beijing, China', '26 °C'],
    ['Ulm', 'Ulm', '20 °C'],
  ])('recalls a recording for %s, marked as one, where it may', async (location, place, temperature) => {
    const tool = toolAt('http://127.0.0.1:1025', true, realClock);
    expect(JSON.parse(await tool.run({ location }, callContext()))).toMatchObject({
      recorded: true,
      note: expect.stringContaining('not the weather of now'),
      place,
      temperature,
    });
  });

  it('waits two seconds for a network that does not answer, and not again for a minute', async () => {
    const clock = createManualClock(0);
    let hits = 0;
    server = await startServer(() => {
      hits += 1;
    });
    const tool = toolAt(server.url, true, clock);
    const first = tool.run({ location: 'Paris' }, callContext());
    await expect.poll(() => hits).toBe(1);
    await clock.advance(2_000);
    expect(JSON.parse(await first)).toMatchObject({ recorded: true, place: 'Paris, France' });
    expect(JSON.parse(await tool.run({ location: 'Paris' }, callContext()))).toMatchObject({ recorded: true });
    expect(hits).toBe(1);
    await clock.advance(60_000);
    const later = tool.run({ location: 'Paris' }, callContext());
    await expect.poll(() => hits).toBe(2);
    await clock.advance(2_000);
    await later;
  });

  it('recalls nothing for a call that was aborted', async () => {
    const controller = new AbortController();
    const running = weather('Paris', {
      listener: () => controller.abort(new Error('stop')),
      recorded: true,
      signal: controller.signal,
    });
    await expect(running).rejects.toThrow('stop');
  });
});
