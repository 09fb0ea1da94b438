import { type ChatMessage, messageText } from '../chat-request.ts';

const BLOCK = /<([\w-]*memor[\w-]*)>(.*?)<\/\1>/gis;
const LINE = /^\s*(?:[-*\u2022]|\d+[.)])\s+(.*)$/;
/** The day before a memory and the time of the event after it. */
const DATES = /^\[\d{4}-\d{2}-\d{2}\]\s*|\s*\([^()]*\d{4}[^()]*\)$/g;

/** The recalled memories in a conversation's system message: the list inside a tag named after memories. */
export function readMemories(messages: readonly ChatMessage[]): string[] {
  const system = messages.filter(({ role }) => role === 'system' || role === 'developer').map(messageText);
  const lines = [...system.join('\n').matchAll(BLOCK)].flatMap(([, , inside]) => (inside ?? '').split('\n'));
  return lines.flatMap((line) => LINE.exec(line)?.[1]?.replace(DATES, '').trim() || []);
}
