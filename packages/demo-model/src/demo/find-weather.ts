import type { IntentFinder } from './intent.ts';
import { placesAtStart } from './place-list.ts';

const SKY = 'weather|forecast|temperature|rain\\w*|snow\\w*|sunny|humid\\w*|umbrella|hot|cold|warm';
const FILLER = 'like|forecast|report|conditions?|going|to|be|now|today|tomorrow|tonight|currently|outside|right|it|is';
const SKY_IN = new RegExp(`\\b(?:${SKY})\\b(?:\\s+(?:${FILLER}))*,?\\s+(?:in|at|for|of|near)\\s+`, 'gi');
const IN_SKY = /\b(?:[Ii]n|[Aa]t|[Ff]or)\s+(?=\p{Lu}[^.?!]*?\b(?:weather|forecast|temperature)\b)/gu;
const PLACE_SKY =
  /(?<place>\p{Lu}[\p{L}.-]*(?:\s+\p{Lu}[\p{L}.-]*)*)(?:['’]s?)?\s+(?:weather|forecast|temperature)\b/gu;
const NO_PLACE = /^(?:what|how|the|is|are|current|today|tell|show|check|get|give|please|i|my|use|call|any|whats?)\b/i;
const ASKS = /\b(?:what|how|tell|show|check|get|give)\b.*\b(?:weather|forecast)\b|\b(?:weather|forecast)\b.*\?/i;

const CHINESE_SKY = /天气|气温|温度|下雨|下雪|冷不冷|热不热|[冷热]吗/;
const LEAD =
  /^(?:请问|请|帮我|帮忙|麻烦|你|能不能|能|可以|告诉我|查询|查一查|查一下|查下|查|看一下|看看|看|我想|想|知道|了解|问一下|问|一下|那么|那|再|还有|今天|明天|后天|现在|今晚|这周|本周|最近|在|的|\s)+/;
const TRAIL = /(?:今天|明天|后天|现在|今晚|这周|本周|最近|当前|目前|实时|会不会|会|有没有|将|那边|那里|的|\s)+$/;
const CHINESE_ASKS = /怎么样|怎样|如何|吗|多少|几度|什么|查|告诉|看|呢|不冷|不热|\?|(?:天气|气温|温度)(?:预报)?$/;

/** Places whose weather is asked for, in English or Chinese. */
export const findWeather: IntentFinder = (text) => {
  const found = [...findEnglish(text), ...findChinese(text)];
  const named = found.filter(({ subject }) => subject !== undefined);
  const kept = named.length > 0 ? named : found.slice(0, 1);
  return kept.filter((one, index) => kept.findIndex(({ subject }) => subject === one.subject) === index);
};

function findEnglish(text: string): { at: number; subject?: string }[] {
  for (const pattern of [SKY_IN, IN_SKY]) {
    const found = [...text.matchAll(pattern)].flatMap(({ index, 0: lead }) =>
      placesAtStart(text.slice(index + lead.length)).map((subject) => ({ at: index, subject })),
    );
    if (found.length > 0) return found;
  }
  const before = [...text.matchAll(PLACE_SKY)].flatMap(({ index, groups }) => {
    const subject = groups?.place ?? '';
    return NO_PLACE.test(subject) ? [] : [{ at: index, subject }];
  });
  if (before.length > 0) return before;
  const asked = ASKS.exec(text);
  return asked === null ? [] : [{ at: asked.index }];
}

function findChinese(text: string): { at: number; subject?: string }[] {
  return [...text.matchAll(/[^,。;!?\n]+\??/g)].flatMap(({ index, 0: clause }) => {
    const sky = CHINESE_SKY.exec(clause);
    if (sky === null || !CHINESE_ASKS.test(clause)) return [];
    const place = clause.slice(0, sky.index).replace(LEAD, '').replace(TRAIL, '');
    if (/[我你他她喜欢]|讨厌/.test(place) || place.length > 24) return [];
    const places = place.split(/[和与跟及、]|以及/).filter((part) => part !== '');
    if (places.length === 0) return [{ at: index }];
    return places.map((subject) => ({ at: index, subject: subject.trim() }));
  });
}
