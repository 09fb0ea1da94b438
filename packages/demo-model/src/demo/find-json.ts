import { isRecord } from '../chat-request.ts';

const MAX_TRIES = 10;

/** The first JSON object in this text, if one of its first ten opening braces begins one. */
export function findJsonObject(text: string): Record<string, unknown> | undefined {
  let start = text.indexOf('{');
  for (let tries = 0; start >= 0 && tries < MAX_TRIES; tries += 1) {
    const end = closingBrace(text, start);
    const value = end === undefined ? undefined : parseObject(text.slice(start, end + 1));
    if (value !== undefined) return value;
    start = text.indexOf('{', start + 1);
  }
  return undefined;
}

/** This text as a JSON object; `undefined` if it is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function closingBrace(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index];
    if (quoted && character === '\\') index += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{') depth += 1;
    else if (!quoted && character === '}') {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return undefined;
}
