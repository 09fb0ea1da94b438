import type { Weather } from './open-meteo.ts';

type Reading = Omit<Weather, 'place'> & { readonly recorded: true; readonly note: string };
export type RecordedWeather = Weather & Reading;

interface City {
  readonly place: string;
  /** As people write it, in lower case. */
  readonly names: readonly string[];
  readonly reading: readonly [
    temperature: number,
    feelsLike: number,
    conditions: string,
    humidity: number,
    wind: string,
  ];
}

const CITIES: readonly City[] = [
  { place: 'Beijing, China', names: ['beijing', '北京'], reading: [26, 27, 'clear sky', 45, '9 km/h from S'] },
  { place: 'Shanghai, China', names: ['shanghai', '上海'], reading: [24, 25, 'light rain', 82, '14 km/h from E'] },
  { place: 'Hangzhou, China', names: ['hangzhou', '杭州'], reading: [25, 27, 'overcast', 78, '8 km/h from NE'] },
  { place: 'Shenzhen, China', names: ['shenzhen', '深圳'], reading: [30, 34, 'partly cloudy', 74, '11 km/h from S'] },
  { place: 'Tokyo, Japan', names: ['tokyo', '东京', '東京'], reading: [22, 22, 'mainly clear', 58, '12 km/h from SE'] },
  { place: 'Singapore', names: ['singapore', '新加坡'], reading: [31, 36, 'showers', 80, '7 km/h from SW'] },
  { place: 'London, United Kingdom', names: ['london', '伦敦'], reading: [15, 14, 'overcast', 72, '18 km/h from W'] },
  { place: 'Paris, France', names: ['paris', '巴黎'], reading: [19, 18, 'partly cloudy', 60, '13 km/h from NW'] },
  { place: 'Berlin, Germany', names: ['berlin', '柏林'], reading: [17, 16, 'light rain', 70, '16 km/h from W'] },
  {
    place: 'New York, United States',
    names: ['new york', '纽约'],
    reading: [21, 21, 'clear sky', 52, '10 km/h from NW'],
  },
];

const ANYWHERE: City['reading'] = [20, 20, 'partly cloudy', 60, '10 km/h from W'];

/** What `get_weather` answers in a demonstration without a network. It says of itself that it is not live. */
export function recordedWeather(location: string): RecordedWeather {
  const wanted = location.toLowerCase();
  const city = CITIES.find(({ names }) => names.some((name) => wanted.startsWith(name)));
  const [temperature, feelsLike, conditions, humidity, wind] = city?.reading ?? ANYWHERE;
  return {
    recorded: true,
    note: 'A recorded example, not the weather of now: the weather service cannot be reached.',
    place: city?.place ?? location,
    temperature: `${temperature} °C`,
    feelsLike: `${feelsLike} °C`,
    conditions,
    humidity: `${humidity} %`,
    wind,
    observedAt: 'recorded',
  };
}
