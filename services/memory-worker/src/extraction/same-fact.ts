import type { Memory } from '@turnwire/shared/domain/memory';
import { normaliseText, wordsOf } from '@turnwire/shared/recall/tokenise';

export type Fact = Pick<Memory, 'text' | 'subject' | 'slot' | 'value'>;

// Words that change nothing between two ways to tell a fact about the user. Negations, tenses, directions and other
// persons do, and the order of what is left does as well.
const FILLERS = new Set('the a an user i my is are am in at of on now currently 用 户 我 的 了 是 在'.split(' '));
const USER = new Set(['user', 'the user', 'i', 'me', 'self', '用户', '我', '本人']);

/** Equal for two texts that say the same in nearly the same words. */
export function factKey(text: string): string {
  const words = wordsOf(text).filter((word) => !FILLERS.has(word));
  return words.length === 0 ? normaliseText(text) : words.join(' ');
}

/** What a fact is about: its subject and slot. Null without a slot; a slot without a subject is the user's. */
export function slotKey({ subject, slot }: Fact): string | null {
  if (slot === null) return null;
  const about = normaliseText(subject ?? 'user');
  return `${USER.has(about) ? 'user' : about}\n${normaliseText(slot)}`;
}

/** Whether two facts are one: the same text, or the same value of the same slot, however it is told. */
export function sameFact(one: Fact, other: Fact): boolean {
  if (factKey(one.text) === factKey(other.text)) return true;
  const key = slotKey(one);
  if (key === null || key !== slotKey(other) || one.value === null || other.value === null) return false;
  return factKey(one.value) === factKey(other.value);
}
