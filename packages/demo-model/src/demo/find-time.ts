import type { IntentFinder } from './intent.ts';
import { placesAtStart } from './place-list.ts';
import { timeZoneInChinese, timeZoneOf } from './time-zone.ts';

const ASKED = [
  /\bwhat time (?:is|'s)?\b/i,
  /\bwhat(?:'s|’s|s| is)\s+(?:the\s+)?(?:current |local |exact )?(?:time|date)\b(?!\s+(?:complexity|limit|difference|frame|of|was|did|will))/i,
  /\b(?:current|local) (?:time|date)\b/i,
  /\btoday['’]?s date\b|\bwhat day is (?:it|today)\b|\bwhat(?:'s|’s| is) today\b/i,
  /\b(?:tell|give|show) me (?:also )?the (?:time|date)\b/i,
  /\b(?:the )?time in \p{Lu}/u,
];
const ZONE = /\b(?:time|date|day)\b(?:\s+(?:is|it|zone|right|now|today|currently|be))*\s+(?:in|at|for)\s+/gi;
const CHINESE = /几点|几号|星期几|周几|现在时间|当前时间|时间是|[市京海州]时间|的时间|日期|什么时间/;

/** Requests for the time or date; the subject is a time zone, or the place as named when its zone is not known. */
export const findTime: IntentFinder = (text) => [...findEnglish(text), ...findChinese(text)];

function findEnglish(text: string): { at: number; subject?: string }[] {
  const starts = ASKED.flatMap((pattern) => pattern.exec(text)?.index ?? []);
  if (starts.length === 0) return [];
  const places = [...text.matchAll(ZONE)].flatMap(({ index, 0: lead }) =>
    placesAtStart(text.slice(index + lead.length)).map((place) => ({ at: index, subject: timeZoneOf(place) ?? place })),
  );
  return places.length > 0 ? places : [{ at: Math.min(...starts) }];
}

function findChinese(text: string): { at: number; subject?: string }[] {
  return [...text.matchAll(/[^,。;!?\n]+/g)].flatMap(({ index, 0: clause }) => {
    if (!CHINESE.test(clause)) return [];
    const latin = /[A-Za-z][A-Za-z_/ ]*[A-Za-z]/.exec(clause)?.[0];
    const zone = timeZoneInChinese(clause) ?? (latin === undefined ? undefined : timeZoneOf(latin));
    return [zone === undefined ? { at: index } : { at: index, subject: zone }];
  });
}
