const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}';
const RUNS = new RegExp(`[${CJK}]+|[^\\P{L}${CJK}]+|\\p{N}+`, 'gu');
const STARTS_CJK = new RegExp(`^[${CJK}]`, 'u');

/**
 * A deterministic embedding: a hashed bag of words and CJK bigrams, as a unit vector. Texts that share words are near
 * each other; meaning is not known to it.
 */
export function embedText(text: string, dimensions = 256): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const token of tokensOf(text)) {
    const hash = fnv1a(token);
    const slot = hash % dimensions;
    // The top bit gives the sign, so that collisions cancel out rather than add up.
    vector[slot] = (vector[slot] ?? 0) + (hash >= 0x80000000 ? -1 : 1);
  }
  const length = Math.hypot(...vector);
  // Opposite signs in one slot may cancel to nothing; the whole text as one token always has a direction.
  if (length === 0) return vector.map((_, index) => (index === fnv1a(text) % dimensions ? 1 : 0));
  return vector.map((value) => value / length);
}

function tokensOf(text: string): string[] {
  const runs = text.normalize('NFKC').toLowerCase().match(RUNS) ?? [];
  return runs.flatMap((run) => (STARTS_CJK.test(run) ? bigrams(run) : [run]));
}

function bigrams(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** 32-bit FNV-1a over UTF-16 code units (http://www.isthe.com/chongo/tech/comp/fnv/). */
function fnv1a(token: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < token.length; index += 1) {
    hash = Math.imul(hash ^ token.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
