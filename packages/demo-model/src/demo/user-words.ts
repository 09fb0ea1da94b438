import { type ChatMessage, isRecord, messageText } from '../chat-request.ts';

const NOT_SPOKEN = /<([\w-]*(?:memor|existing|tombstone|example|instruction)[\w-]*)(?:\s[^>]*)?>.*?<\/\1>/gis;
const TAGGED = /<((?:user|message|turn)[\w-]*)((?:\s[^>]*)?)>(.*?)<\/\1>/gis;
const LABEL =
  /^\s*(?:\[?\d+\]?[.:]?\s*)?\[?(user|human|assistant|ai|system|tool|用户|助手|系统|工具)\]?\s*[:\uff1a]\s*/i;
const USER_LABEL = /^(?:user|human|用户)$/i;
const OTHER_LABEL = /^(?:assistant|ai|system|tool|助手|系统|工具)/i;

/**
 * What the user said in a conversation that is shown to an extractor, without the assistant's or the system's words.
 * Reads the request's last user message: JSON with roles, tags (`<user>…</user>`, `<message role="user">`), lines with
 * labels (`User: …`), or, where nothing is marked, the whole of it. Sections about known memories are left out.
 */
export function readUserWords(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  const text = last === undefined ? '' : messageText(last).replace(NOT_SPOKEN, '');
  return fromJson(text) ?? fromTags(text) ?? fromLabels(text) ?? text;
}

function fromJson(text: string): string | null {
  const start = text.search(/[[{]/);
  if (start < 0 || !/"role"/.test(text)) return null;
  const whole = parse(text.slice(start, Math.max(text.lastIndexOf(']'), text.lastIndexOf('}')) + 1));
  const values = whole === undefined ? text.split('\n').map(parse) : [whole];
  const said = values.flatMap((value) => userTexts(value));
  return said.length === 0 ? null : said.join('\n');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function userTexts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(userTexts);
  if (!isRecord(value)) return [];
  if (typeof value.role === 'string') {
    const said = value.content ?? value.text;
    return value.role === 'user' && typeof said === 'string' ? [said] : [];
  }
  return Object.values(value).flatMap(userTexts);
}

function fromTags(text: string): string | null {
  const tagged = [...text.matchAll(TAGGED)];
  const said = tagged.flatMap(([, name = '', attributes = '', inside = '']) => {
    const role = /(?:role|from|speaker)\s*=\s*["']?(\w+)/i.exec(attributes)?.[1];
    return (role ?? name).toLowerCase().startsWith('user') ? [inside.trim()] : [];
  });
  return said.length === 0 ? null : said.join('\n');
}

function fromLabels(text: string): string | null {
  const said: string[] = [];
  let speaking: 'user' | 'other' | null = null;
  for (const line of text.split('\n')) {
    const label = LABEL.exec(line);
    if (label?.[1] !== undefined) {
      if (USER_LABEL.test(label[1])) speaking = 'user';
      else if (OTHER_LABEL.test(label[1])) speaking = 'other';
    }
    if (speaking === 'user') said.push(line.replace(LABEL, ''));
  }
  return speaking === null ? null : said.join('\n').trim();
}
