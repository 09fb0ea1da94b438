const VOWEL = /[aeiouy]/;
const DOUBLED = /([bdfgmnprt])\1$/;

/**
 * The stem of a lowercase English word: plural, `-ed` and `-ing` endings and a final `e` go, so that like, likes, liked
 * and liking meet. Much lighter than Porter's stemmer, since a wrong match costs more here than a missed one. Words of
 * other languages may lose an ending as well; they lose it in query and memory alike.
 */
export function stemWord(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const stem = withoutVerbEnding(withoutPlural(word));
  return stem.length > 3 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}

function withoutPlural(word: string): string {
  if (/(?:ss|us|is)$/.test(word) || !word.endsWith('s')) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

function withoutVerbEnding(word: string): string {
  if (word.endsWith('eed')) return word;
  if (word.endsWith('ied') && word.length > 4) return `${word.slice(0, -3)}y`;
  const stem = word.replace(/(?:ed|ing)$/, '');
  if (stem === word || stem.length < 2 || !VOWEL.test(stem)) return word;
  return DOUBLED.test(stem) ? stem.slice(0, -1) : stem;
}
