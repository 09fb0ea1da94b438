import { type Tag, tagAt } from './tags.ts';

/** The part of a reply that is not read yet. */
export class Input {
  #text = '';
  #at = 0;
  #ended = false;

  /** The reply is complete: nothing is worth waiting for. */
  get ended(): boolean {
    return this.#ended;
  }

  get done(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The next UTF-16 unit; empty if there is none. */
  get char(): string {
    return this.#text.charAt(this.#at);
  }

  charAfter(length: number): string {
    return this.#text.charAt(this.#at + length);
  }

  add(text: string): void {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
  }

  end(): void {
    this.#ended = true;
  }

  take(length = 1): string {
    const taken = this.#text.slice(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  /** How much there is. */
  get length(): number {
    return this.#text.length - this.#at;
  }

  /** Puts back what was taken last. */
  unread(taken: string): void {
    // What an earlier push brought is not kept; what this one brought costs nothing to go back to.
    if (this.#at < taken.length) {
      this.#text = taken + this.#text.slice(this.#at);
      this.#at = 0;
    } else this.#at -= taken.length;
  }

  /**
   * The tag at this place, or null. `wait`: more text has to decide. `cut off`: the reply ends within a tag; one that
   * ends in `<` or `<to` just ends so.
   */
  tag(): Tag | 'wait' | 'cut off' | null {
    if (this.char !== '<') return null;
    const tag = tagAt(this.#text, this.#at);
    if (tag !== 'partial') return tag;
    if (!this.#ended) return 'wait';
    return /^<\/?tool_/.test(this.#text.slice(this.#at)) ? 'cut off' : null;
  }
}
