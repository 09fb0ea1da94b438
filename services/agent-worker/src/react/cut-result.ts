/** The most that a model is sent of one result, and that an event shows of it, in characters. */
const KEPT_CHARS = 100_000;
const SHOWN_CHARS = 8_000;

export interface CutResult {
  /** For the model: head and tail, with a note of what is missing between them. */
  readonly kept: string;
  /** For clients: the beginning. */
  readonly shown: string;
  /** Whether `shown` is not all of it. */
  readonly truncated: boolean;
}

/** Bounds a tool's result, so that one call can neither fill the model's context nor the event log. */
export function cutResult(content: string): CutResult {
  const shown = head(content, SHOWN_CHARS);
  return { kept: middleCut(content), shown, truncated: shown.length < content.length };
}

function middleCut(content: string): string {
  if (content.length <= KEPT_CHARS) return content;
  const half = KEPT_CHARS / 2;
  const start = head(content, half);
  const end = content.slice(-half).replace(/^[\uDC00-\uDFFF]/, '');
  return `${start}\n[… ${content.length - start.length - end.length} characters left out …]\n${end}`;
}

/** The first `length` characters, without half of a surrogate pair at the end. */
function head(content: string, length: number): string {
  return content.length <= length ? content : content.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
