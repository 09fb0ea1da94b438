import { escapeRegExp } from './escape-regexp.ts';

const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const URL_LIKE = /\bhttps?:\/\/[^\s"'<>,。\uff0c]+/g;
const QUOTED = /"([^"]+)"|“([^”]+)”|「([^」]+)」|`([^`]+)`|(?<![\p{L}\d])'([^']+)'(?![\p{L}\d])/gu;
const NUMBER = /(?<![\w.@-])-?\d+(?:\.\d+)?(?![\w@]|\.\d)/g;
const DATE = /\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?/;
const PATH = /(?<!\S)(?:[\w.~-]*\/[\w./~-]+|[\w-]+\.[A-Za-z]\w{0,4})(?!\S)/;
const ABOUT =
  /(?:\b(?:about|regarding|subject:?)\s+|关于\s*)(.+?)(?=\s+(?:saying|that says|with|to)\b|[.!?。,;\uff01\uff1f\uff0c\uff1b]|\s*说|$)/i;
const SAYING =
  /(?:\b(?:saying|that says|says|with (?:the )?(?:message|text|body|content))\b\s*:?\s*|(?:内容是|内容为|内容|说)[:\uff1a]?\s*)(.+)$/is;
const CONNECTOR = /^(?:[\s,:;\uff0c\uff1a\uff1b`"'”」]|\b(?:to|with|for|on|about|and|please|tool|一下)\b)+/i;

/** Values that a text offers; each `take` gives the next one that has not been taken. */
export type TextValues = {
  explicit(key: string): string | undefined;
  takeEmail(): string | undefined;
  takeUrl(): string | undefined;
  takeQuoted(): string | undefined;
  takeNumber(): number | undefined;
  date(): string | undefined;
  path(): string | undefined;
  about(): string | undefined;
  saying(): string | undefined;
  /** The text without addresses, links and the connecting words at its start. */
  rest(): string;
  includes(word: string): boolean;
};

export function readTextValues(text: string): TextValues {
  const emails = text.match(EMAIL) ?? [];
  const urls = text.match(URL_LIKE) ?? [];
  const quotes = [...text.matchAll(QUOTED)].map(([, ...groups]) => groups.find((group) => group !== undefined));
  const numbers = (text.match(NUMBER) ?? []).map(Number);
  return {
    explicit: (key) => explicitValue(text, key),
    takeEmail: () => emails.shift(),
    takeUrl: () => urls.shift(),
    takeQuoted: () => quotes.shift(),
    takeNumber: () => numbers.shift(),
    date: () => DATE.exec(text)?.[0],
    path: () => PATH.exec(text)?.[0],
    about: () => unquote(ABOUT.exec(text)?.[1]),
    saying: () => unquote(SAYING.exec(text)?.[1]),
    rest: () => unquote(text.replace(EMAIL, '').replace(URL_LIKE, '').replace(CONNECTOR, '')) ?? '',
    includes: (word) => text.toLowerCase().includes(word.toLowerCase()),
  };
}

/** `key=value`, `key: value`, `key "value"`. */
function explicitValue(text: string, key: string): string | undefined {
  const name = escapeRegExp(key);
  const value = '(?:"([^"]*)"|“([^”]*)”|\'([^\']*)\'|([^\\s,;\\uff0c\\uff1b]+))';
  const assigned = new RegExp(`(?<![\\w-])${name}\\s*(?:=|:(?!//)|\\uff1a|是|为)\\s*${value}`, 'iu').exec(text);
  const quoted = new RegExp(`(?<![\\w-])${name}\\s+(?:"([^"]*)"|“([^”]*)”|'([^']*)')`, 'iu').exec(text);
  return (assigned ?? quoted)?.slice(1).find((group) => group !== undefined);
}

function unquote(text: string | undefined): string | undefined {
  const bare = text
    ?.trim()
    .replace(/^["'“「`]+|["'”」`]*[.。!\uff01]?["'”」`]*$/g, '')
    .trim();
  return bare === '' ? undefined : bare;
}
