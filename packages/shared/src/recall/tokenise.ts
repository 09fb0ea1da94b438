import { stemWord } from './stem-word.ts';
import { isStopWord } from './stop-words.ts';

// Scripts without spaces between words, and Hangul, whose words carry their particles: read by characters.
const CJK = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々`;
const PIECE = new RegExp(String.raw`[${CJK}]+|\p{Nd}+|[[\p{L}\p{M}]--[${CJK}]]+(?:'[[\p{L}\p{M}]--[${CJK}]]+)*`, 'gv');
const CJK_ONLY = new RegExp(`^[${CJK}]+$`, 'v');

/** Text as comparisons see it: one width, one case, one kind of apostrophe, single spaces. */
export function normaliseText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’ʼ`]/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
}

/** The words of a text in order: stems of words, runs of digits, CJK characters one by one. */
export function wordsOf(text: string): string[] {
  return piecesOf(text).flatMap((piece) => (isCjk(piece) ? [...piece] : [stemOf(piece)]));
}

/** What a text is found by: as {@link wordsOf} without stop words, and CJK characters also in pairs. */
export function termsOf(text: string): string[] {
  return piecesOf(text).flatMap((piece) => {
    if (isCjk(piece)) return cjkTerms([...piece]);
    return isStopWord(withoutClitic(piece)) ? [] : [stemOf(piece)];
  });
}

export function isCjk(text: string): boolean {
  return CJK_ONLY.test(text);
}

function piecesOf(text: string): readonly string[] {
  return normaliseText(text).match(PIECE) ?? [];
}

function cjkTerms(characters: readonly string[]): string[] {
  return characters.flatMap((character, index) => {
    const next = characters[index + 1];
    const single = isStopWord(character) ? [] : [character];
    const bothStop = next === undefined || (single.length === 0 && isStopWord(next));
    return bothStop ? single : [...single, `${character}${next}`];
  });
}

function stemOf(piece: string): string {
  return stemWord(withoutClitic(piece));
}

/** `user's` and `i'm` without their ending; `don't` keeps it, since it turns the meaning round. */
function withoutClitic(word: string): string {
  return word.replace(/'(?:s|m|re|ve|ll|d)$/, '');
}
