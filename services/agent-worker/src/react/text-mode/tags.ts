/**
 * The tags of the Hermes form. They count only as written here, in lower case and without white space: models that were
 * trained on the form write each as one token, and vLLM and SGLang take nothing else either.
 */
export const CALL_OPEN = '<tool_call>';
export const CALL_CLOSE = '</tool_call>';
export const RESULT_OPEN = '<tool_response>';
export const RESULT_CLOSE = '</tool_response>';

const TAGS = [CALL_OPEN, CALL_CLOSE, RESULT_OPEN, RESULT_CLOSE] as const;
export type Tag = (typeof TAGS)[number];

const LONGEST_TAG = Math.max(...TAGS.map((tag) => tag.length));

/** The tag at this place, `partial` where the text ends before it can be told, or null. */
export function tagAt(text: string, at: number): Tag | 'partial' | null {
  const found = TAGS.find((tag) => text.startsWith(tag, at));
  if (found !== undefined) return found;
  if (text.length - at >= LONGEST_TAG) return null;
  const rest = text.slice(at);
  return TAGS.some((tag) => tag.startsWith(rest)) ? 'partial' : null;
}

export function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r';
}
