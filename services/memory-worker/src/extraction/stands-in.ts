import { isCjk, normaliseText, wordsOf } from '@turnwire/shared/recall/tokenise';

const WORD_CHARACTER = /[\p{L}\p{N}]/u;

/**
 * Whether a quote stands in the user's words, but for white space, width, case and the marks around it. Whole words
 * only, or a quote of one letter would stand nearly everywhere.
 */
export function standsIn(quote: string, userWords: string): boolean {
  const wanted = normaliseText(quote).replace(/^[\p{P}\p{S}\s]+|[\p{P}\p{S}\s]+$/gu, '');
  if (wanted === '') return false;
  const words = normaliseText(userWords);
  for (let at = words.indexOf(wanted); at >= 0; at = words.indexOf(wanted, at + 1)) {
    const startsWord = !joins(words.charAt(at - 1), wanted.charAt(0));
    if (startsWord && !joins(wanted.slice(-1), words.charAt(at + wanted.length))) return true;
  }
  return false;
}

/** A quote of a single word proves nothing ("hi", "ok"), unless the memory is about that very word. */
export function isTelling(quote: string, text: string): boolean {
  const [first, ...rest] = wordsOf(quote);
  return rest.length > 0 || (first !== undefined && wordsOf(text).includes(first));
}

/** Whether two neighbouring characters belong to one word. CJK text has no such joints. */
function joins(left: string, right: string): boolean {
  return [left, right].every((character) => WORD_CHARACTER.test(character) && !isCjk(character));
}
