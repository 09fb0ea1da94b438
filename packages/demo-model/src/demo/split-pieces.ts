const WIDE = '\\u3000-\\u30ff\\u3400-\\u9fff\\uff00-\\uffef';
const PIECES = new RegExp(`\\s*(?:[${WIDE}]{1,2}|[^\\s${WIDE}]+)|\\s+$`, 'gu');

/** A text in the pieces in which it is streamed: words with the space before them, CJK characters in pairs. */
export function splitPieces(text: string): string[] {
  return text.match(PIECES) ?? [];
}
