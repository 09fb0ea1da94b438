/** Places that are no city of the time zone database, and Chinese names. */
const ALIASES: Readonly<Record<string, string>> = {
  utc: 'UTC',
  gmt: 'UTC',
  beijing: 'Asia/Shanghai',
  hangzhou: 'Asia/Shanghai',
  shenzhen: 'Asia/Shanghai',
  guangzhou: 'Asia/Shanghai',
  china: 'Asia/Shanghai',
  japan: 'Asia/Tokyo',
  korea: 'Asia/Seoul',
  india: 'Asia/Kolkata',
  mumbai: 'Asia/Kolkata',
  delhi: 'Asia/Kolkata',
  'new delhi': 'Asia/Kolkata',
  'san francisco': 'America/Los_Angeles',
  seattle: 'America/Los_Angeles',
  california: 'America/Los_Angeles',
  boston: 'America/New_York',
  nyc: 'America/New_York',
  'washington dc': 'America/New_York',
  france: 'Europe/Paris',
  germany: 'Europe/Berlin',
  munich: 'Europe/Berlin',
  england: 'Europe/London',
  uk: 'Europe/London',
  geneva: 'Europe/Zurich',
  'rio de janeiro': 'America/Sao_Paulo',
  北京: 'Asia/Shanghai',
  上海: 'Asia/Shanghai',
  杭州: 'Asia/Shanghai',
  深圳: 'Asia/Shanghai',
  广州: 'Asia/Shanghai',
  成都: 'Asia/Shanghai',
  中国: 'Asia/Shanghai',
  香港: 'Asia/Hong_Kong',
  台北: 'Asia/Taipei',
  东京: 'Asia/Tokyo',
  日本: 'Asia/Tokyo',
  首尔: 'Asia/Seoul',
  新加坡: 'Asia/Singapore',
  曼谷: 'Asia/Bangkok',
  迪拜: 'Asia/Dubai',
  伦敦: 'Europe/London',
  英国: 'Europe/London',
  巴黎: 'Europe/Paris',
  法国: 'Europe/Paris',
  柏林: 'Europe/Berlin',
  德国: 'Europe/Berlin',
  莫斯科: 'Europe/Moscow',
  纽约: 'America/New_York',
  洛杉矶: 'America/Los_Angeles',
  旧金山: 'America/Los_Angeles',
  芝加哥: 'America/Chicago',
  悉尼: 'Australia/Sydney',
};

let cities: ReadonlyMap<string, string> | undefined;

/** The IANA name of a place's time zone: of a zone's own name, its city ('new york'), or a name in the list above. */
export function timeZoneOf(place: string): string | undefined {
  const key = place.trim().toLowerCase().replaceAll('_', ' ');
  cities ??= new Map(
    Intl.supportedValuesOf('timeZone').flatMap((zone) => {
      const name = zone.toLowerCase().replaceAll('_', ' ');
      return [
        [name, zone],
        [name.slice(name.lastIndexOf('/') + 1), zone],
      ] as const;
    }),
  );
  return ALIASES[key] ?? cities.get(key) ?? cities.get(key.split(',')[0] ?? '');
}

/** The time zone of the first place with a Chinese name in this text. */
export function timeZoneInChinese(text: string): string | undefined {
  const name = Object.keys(ALIASES).find((alias) => /\p{Script=Han}/u.test(alias) && text.includes(alias));
  return name === undefined ? undefined : ALIASES[name];
}
