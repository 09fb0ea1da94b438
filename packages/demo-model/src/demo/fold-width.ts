/**
 * How much of a text is read for what it asks, in characters. Some of the patterns take time that grows with the square
 * of the length: 4,000 characters stay under 0.2 s at worst.
 */
export const MAX_READ = 4000;

/**
 * Full-width forms (as Chinese keyboards type them: U+FF01 to U+FF5E and U+3000) as their ASCII ones. Lengths and
 * positions stay, so what is found in the folded text can be cut from the original.
 */
export function foldWidth(text: string): string {
  return text.replace(/[\uff01-\uff5e\u3000]/g, (wide) =>
    wide === '\u3000' ? ' ' : String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
  );
}
