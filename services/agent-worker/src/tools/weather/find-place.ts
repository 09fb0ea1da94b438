import type { OpenMeteo, Place } from './open-meteo.ts';

const ADMINISTRATIVE_SUFFIX = /(?:特别行政区|自治区|省|市|区|县)$/;

/**
 * The place that people mean by `Paris`, `Paris, Texas`, `北京市` or `杭州, 浙江`: the service knows bare names only, so
 * what follows a comma chooses among the places of that name. Null: there is none.
 */
export async function findPlace(service: OpenMeteo, location: string, signal: AbortSignal): Promise<Place | null> {
  const [name = '', ...within] = location.split(/[,,、]/).map((part) => part.trim());
  for (const candidate of new Set([name, name.replace(ADMINISTRATIVE_SUFFIX, '')])) {
    if (candidate === '') continue;
    const places = await service.search(candidate, signal);
    const chosen = places.find((place) => within.every((part) => lies(place, part))) ?? places[0];
    if (chosen !== undefined) return chosen;
  }
  return null;
}

function lies({ country, countryCode, region }: Place, within: string): boolean {
  const wanted = within.toLowerCase();
  return [country, countryCode, region].some((part) => {
    const name = part.toLowerCase();
    return name === wanted || (wanted.length > 2 && name.startsWith(wanted));
  });
}
