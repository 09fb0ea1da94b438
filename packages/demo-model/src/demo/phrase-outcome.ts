import type { ToolOutcome } from '../chat-request.ts';
import { parseObject } from './find-json.ts';
import type { Language } from './language.ts';
import { editedArguments, type Outcome, readOutcome } from './read-outcome.ts';

type Fields = ReadonlyMap<string, unknown>;
type Phrase = (call: ToolOutcome, fields: Fields, text: string, language: Language) => string | null;

const PHRASES: Readonly<Record<string, Phrase>> = {
  get_weather: phraseWeather,
  calculator: phraseCalculation,
  current_time: phraseTime,
};

/** One tool's result in words; failures, rejections and cancels are told plainly. */
export function phraseOutcome(told: ToolOutcome, language: Language): string {
  const outcome = readOutcome(told.content);
  const call = { ...told, arguments: editedArguments(told.content) ?? told.arguments };
  if (outcome.kind !== 'ok') return phraseFailure(call.name, outcome, language);
  const phrase = PHRASES[call.name]?.(call, outcome.fields, outcome.text, language) ?? null;
  if (phrase !== null) return phrase;
  if (outcome.text.trim() === '') return language === 'zh' ? `${call.name} 已完成。` : `${call.name} is done.`;
  return language === 'zh' ? `${call.name} 返回：${outcome.text}` : `${call.name} answered: ${outcome.text}`;
}

function phraseFailure(name: string, outcome: Exclude<Outcome, { kind: 'ok' }>, language: Language): string {
  const { kind, reason } = outcome;
  switch (kind) {
    case 'rejected':
      return language === 'zh'
        ? `${name} 没有执行：被拒绝（${reason}）`
        : `${name} was not run, it was rejected: ${reason}`;
    case 'cancelled':
      return language === 'zh' ? `${name} 已被取消：${reason}` : `${name} was cancelled: ${reason}`;
    case 'unknown':
      return language === 'zh'
        ? `${name} 的结果未知：${reason}`
        : `Whether ${name} took effect is not known: ${reason}`;
    case 'error':
      return language === 'zh' ? `${name} 失败：${reason}` : `${name} failed: ${reason}`;
  }
}

function phraseWeather(call: ToolOutcome, fields: Fields, text: string, language: Language): string | null {
  const place = pick(fields, /^(?:place|location|city|resolvedname|name|address)$/) ?? firstArgument(call) ?? '';
  const temperature = readTemperature(fields);
  const conditions = pick(fields, /^(?:conditions?|description|summary|weather|sky|weatherdescription|text)$/);
  const facts = [temperature, conditions].filter((fact) => fact !== undefined).join(language === 'zh' ? '，' : ', ');
  // Prose with a number in it is a sentence of its own; other prose is more likely a complaint.
  if (facts === '') return /\d/.test(text) ? text : null;
  const recorded = isRecorded(fields, text);
  if (language === 'zh') return `${place}的天气：${facts}${recorded ? '（数据为预先录制，并非实时）' : ''}。`;
  return `Weather in ${place}: ${facts}${recorded ? ' (recorded data, not live)' : ''}.`;
}

function readTemperature(fields: Fields): string | undefined {
  for (const [key, value] of fields) {
    const unit = /^temp(?:erature)?(?:2m|now|current)?(c|f|celsius|fahrenheit)?$/.exec(key);
    if (unit === null || (typeof value !== 'number' && typeof value !== 'string')) continue;
    if (typeof value === 'string' && !/^-?[\d.]+$/.test(value)) return value;
    const units = unit[1] ?? pick(fields, /^(?:units?|temperatureunit)$/) ?? 'c';
    return `${value} ${/^(?:f|imperial|°f)/i.test(units) ? '°F' : '°C'}`;
  }
  return undefined;
}

/** `recorded: true`, `live: false`, a key like `recordedAt`, or the words of the result. */
function isRecorded(fields: Fields, text: string): boolean {
  if (fields.get('recorded') === false || fields.get('live') === true) return false;
  return fields.get('live') === false || /recorded|sample data|not live|录制/i.test(text);
}

function phraseCalculation(call: ToolOutcome, fields: Fields, text: string): string | null {
  const result = pick(fields, /^(?:result|value|answer|output)$/) ?? text;
  if (!/\d/.test(result)) return null;
  const expression = pick(fields, /^(?:expression|input|formula)$/) ?? firstArgument(call);
  return expression === undefined || result.includes('=') ? `${result}` : `${expression} = ${result}`;
}

function phraseTime(call: ToolOutcome, fields: Fields, text: string, language: Language): string | null {
  const time =
    pick(fields, /^(?:local|localtime|formatted|readable|text)$/) ??
    pick(fields, /^(?:time|datetime|iso|now|utc|currenttime)$/) ??
    text;
  if (!/\d/.test(time)) return null;
  const date = pick(fields, /^date$/);
  const full = date === undefined || time.includes(date) ? time : `${date} ${time}`;
  const zone = pick(fields, /^(?:timezone|zone|tz)$/) ?? firstArgument(call);
  if (zone === undefined || full.includes(zone)) return language === 'zh' ? `现在是 ${full}。` : `It is ${full}.`;
  return language === 'zh' ? `${zone} 现在是 ${full}。` : `It is ${full} in ${zone}.`;
}

function pick(fields: Fields, key: RegExp): string | undefined {
  for (const [name, value] of fields) {
    if (key.test(name) && (typeof value === 'string' || typeof value === 'number')) return String(value);
  }
  return undefined;
}

function firstArgument(call: ToolOutcome): string | undefined {
  const value = Object.values(parseObject(call.arguments) ?? {})[0];
  return typeof value === 'string' ? value : undefined;
}
