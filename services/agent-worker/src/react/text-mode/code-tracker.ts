import { isSpace } from './tags.ts';

interface Run {
  readonly char: string;
  length: number;
  /** Whether only white space stands before it on its line. */
  readonly atLineStart: boolean;
}

/**
 * Knows whether a place in Markdown text, read unit by unit, is code: in a fenced block (``` or ~~~ of three and more,
 * until a line with at least as many) or in inline code (until as many backticks). It follows CommonMark but where that
 * would need to look ahead or to know lists: a fence may be indented by any white space, since it may belong to a list,
 * and inline code ends with its line, closed or not, so that a lone backtick has no effect on the lines after it.
 */
export class CodeTracker {
  #fence: { readonly char: string; readonly length: number } | null = null;
  /** On the line that opens the fence. */
  #inInfo = false;
  /** The line so far closes the fence, if nothing else follows on it. */
  #closing = false;
  /** How many backticks opened the inline code that is open; 0: none. */
  #inline = 0;
  #run: Run | null = null;
  #atLineStart = true;
  #escaped = false;

  /** Whether only white space stands before this place on its line. */
  get atLineStart(): boolean {
    return this.#atLineStart;
  }

  /** Whether something else than a backtick or tilde would be code here. */
  isCode(): boolean {
    this.#endRun();
    return this.#fence !== null || this.#inline > 0;
  }

  take(char: string): void {
    if (char === '\n') this.newLine();
    else if ((char === '`' || char === '~') && !this.#escaped) this.#extendRun(char);
    else this.#takeOther(char);
  }

  newLine(): void {
    this.#endRun();
    if (this.#closing) this.#fence = null;
    this.#closing = false;
    this.#inInfo = false;
    this.#inline = 0;
    this.#atLineStart = true;
    this.#escaped = false;
  }

  #takeOther(char: string): void {
    this.#escaped = char === '\\' && !this.isCode() && !this.#escaped;
    this.#endRun();
    if (isSpace(char)) return;
    this.#atLineStart = false;
    this.#closing = false;
  }

  #extendRun(char: string): void {
    if (this.#run?.char === char) {
      this.#run.length += 1;
      return;
    }
    this.#endRun();
    this.#run = { char, length: 1, atLineStart: this.#atLineStart };
    this.#atLineStart = false;
    this.#closing = false;
  }

  #endRun(): void {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    if (this.#fence !== null) this.#endRunInFence(run, this.#fence);
    else if (run.atLineStart && run.length >= 3) this.#openFence(run);
    else if (run.char === '`') this.#inline = toggled(this.#inline, run.length);
  }

  #openFence({ char, length }: Run): void {
    this.#fence = { char, length };
    this.#inInfo = true;
  }

  #endRunInFence(run: Run, fence: { readonly char: string; readonly length: number }): void {
    if (!this.#inInfo) {
      this.#closing = run.atLineStart && run.char === fence.char && run.length >= fence.length;
    } else if (run.char === '`' && fence.char === '`') {
      // A line that opens a fence has no backtick after it: this was inline code at the start of a line.
      this.#fence = null;
      this.#inInfo = false;
      this.#inline = toggled(fence.length, run.length);
    }
  }
}

function toggled(open: number, run: number): number {
  if (open === 0) return run;
  return open === run ? 0 : open;
}
