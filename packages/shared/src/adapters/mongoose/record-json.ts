import { Conflict } from './retry.ts';
import { type LongText, longText, type Texts } from './texts.ts';

/** A write with more JSON than this keeps its long strings beside it, so that no document nears its limit of 16 MB. */
const WRITE_CHARS = 200_000;
const LONG_CHARS = 16_000;

export interface RecordJson {
  readonly json: string;
  /** Names of the strings that are kept beside it; absent where there are none. */
  readonly texts?: readonly string[];
}

/** The records of one write as JSON, in order, and the texts to store before it. */
export function encodeRecords(records: readonly unknown[]): {
  readonly encoded: readonly RecordJson[];
  readonly texts: readonly LongText[];
} {
  const whole = records.map((record) => JSON.stringify(record));
  if (whole.reduce((sum, json) => sum + json.length, 0) <= WRITE_CHARS) {
    return { encoded: whole.map((json) => ({ json })), texts: [] };
  }
  const texts = new Map<string, LongText>();
  const encoded = records.map((record) => withoutLongStrings(record, texts));
  return { encoded, texts: [...texts.values()] };
}

/** A `\0` at the beginning marks what stands for a text; strings that have one of their own get another. */
function withoutLongStrings(record: unknown, texts: Map<string, LongText>): RecordJson {
  const names = new Set<string>();
  const json = JSON.stringify(record, (_key, value: unknown) => {
    if (typeof value !== 'string') return value;
    if (value.length <= LONG_CHARS) return value.startsWith('\0') ? `\0${value}` : value;
    const text = longText(value);
    texts.set(text.name, text);
    names.add(text.name);
    return `\0:${text.name}`;
  });
  // Also with no name at all: it says that the marks are to be read.
  return { json, texts: [...names] };
}

export interface StoredJson {
  readonly json?: string;
  readonly texts?: readonly string[];
}

/** The records of documents of one session, in order. Only this store writes them, so their type is known. */
export async function decodeRecords<T>(texts: Texts, owner: string, stored: readonly StoredJson[]): Promise<T[]> {
  const names = stored.flatMap((document) => document.texts ?? []);
  const found: ReadonlyMap<string, string> = names.length === 0 ? new Map() : await texts.get(owner, names);
  return stored.map((document) => decodeRecord<T>(document, found));
}

/** The record of one document that keeps nothing beside it. */
export function recordOf<T>(document: StoredJson): T {
  return decodeRecord<T>(document, new Map());
}

function decodeRecord<T>({ json = 'null', texts }: StoredJson, found: ReadonlyMap<string, string>): T {
  if (texts === undefined) return JSON.parse(json) as T;
  return JSON.parse(json, (_key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith('\0')) return value;
    return value.startsWith('\0:') ? textOf(found, value.slice(2)) : value.slice(1);
  }) as T;
}

function textOf(found: ReadonlyMap<string, string>, name: string): string {
  const text = found.get(name);
  // Its session was deleted just now, after the record was read.
  if (text === undefined) throw new Conflict(`The text ${name} of a record is missing.`);
  return text;
}
