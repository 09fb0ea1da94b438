import { isSpace } from './tags.ts';

/** White space beyond this is passed on without waiting for what comes after it. */
export const MAX_HELD_SPACE = 16;

/**
 * Text as it is shown, in which something that is not shown may leave gaps. White space waits for what follows it, so
 * that a gap leaves no blank lines behind: none at the beginning and at the end, and between two texts the white space
 * of one of its sides, the one with more line breaks. Text without gaps passes byte for byte.
 */
export class ShownText {
  #ready = '';
  /** White space that waits: before the gap, and after it. */
  #before = '';
  #after = '';
  #inGap = false;
  #begun = false;

  write(text: string): void {
    for (const char of text) {
      if (isSpace(char)) this.#writeSpace(char);
      else this.#writeMark(char);
    }
  }

  /** Something that is not shown stood here. */
  gap(): void {
    this.#before = this.#separator();
    this.#after = '';
    this.#inGap = true;
  }

  /** What can be shown by now. */
  take(): string {
    const ready = this.#ready;
    this.#ready = '';
    return ready;
  }

  /** The rest. */
  end(): string {
    if (!this.#inGap) this.#ready += this.#before;
    this.#before = '';
    return this.take();
  }

  #writeSpace(char: string): void {
    if (this.#inGap) {
      if (this.#after.length < MAX_HELD_SPACE) this.#after += char;
      return;
    }
    this.#before += char;
    if (this.#before.length <= MAX_HELD_SPACE) return;
    this.#ready += this.#before.charAt(0);
    this.#before = this.#before.slice(1);
    this.#begun = true;
  }

  #writeMark(char: string): void {
    this.#ready += this.#separator() + char;
    this.#before = '';
    this.#after = '';
    this.#inGap = false;
    this.#begun = true;
  }

  #separator(): string {
    if (!this.#inGap) return this.#before;
    if (!this.#begun) return '';
    const afterIsLonger = lineBreaks(this.#after) > lineBreaks(this.#before);
    return this.#before === '' || afterIsLonger ? this.#after : this.#before;
  }
}

function lineBreaks(space: string): number {
  return space.split('\n').length;
}
