import { MAX_HELD_SPACE, ShownText } from './shown-text.ts';
import { isSpace } from './tags.ts';
import { WholeCharacters } from './whole-characters.ts';

export type SplitPiece = { readonly type: 'reasoning' | 'text'; readonly text: string };

export interface ReasoningSplitter {
  push(text: string): readonly SplitPiece[];
  end(): readonly SplitPiece[];
}

const OPEN = '<think>';
const CLOSE = '</think>';

/** The most text, in UTF-16 units, that is held back: white space before the tag, and what may be the tag. */
export const MAX_HELD_REASONING = MAX_HELD_SPACE + CLOSE.length;

/**
 * Takes the reasoning out of replies of models whose server leaves it in the text: `<think>...</think>` at the very
 * beginning, in native and text mode alike. Elsewhere the tag is text. What stands in it is reasoning and nothing else:
 * models rehearse calls there that they do not make. Without the closing tag all of the reply is reasoning. White space
 * around it is left out; text without reasoning passes byte for byte.
 */
export function createReasoningSplitter(): ReasoningSplitter {
  return new ThinkSplitter();
}

class ThinkSplitter implements ReasoningSplitter {
  readonly #whole = new WholeCharacters();
  readonly #reasoning = new ShownText();
  #state: 'before' | 'inside' | 'after' | 'text' = 'before';
  #held = '';

  push(text: string): readonly SplitPiece[] {
    return this.#state === 'text' ? piecesOf('text', text) : this.#read(this.#whole.push(text), false);
  }

  end(): readonly SplitPiece[] {
    return this.#state === 'text' ? [] : this.#read(this.#whole.end(), true);
  }

  #read(text: string, ended: boolean): readonly SplitPiece[] {
    let rest = this.#held + text;
    this.#held = '';
    if (this.#state === 'before') rest = this.#readBefore(rest, ended);
    if (this.#state === 'inside') rest = this.#readInside(rest, ended);
    if (this.#state === 'after') rest = this.#readAfter(rest);
    // Half a character that waits is of no use to text that passes as it comes.
    if (this.#state === 'text') rest += this.#whole.end();
    return [...piecesOf('reasoning', this.#reasoning.take()), ...piecesOf('text', rest)];
  }

  /** Each answers what is left for the states after it. */
  #readBefore(text: string, ended: boolean): string {
    const tagAt = leadingSpace(text);
    const mayBegin = tagAt <= MAX_HELD_SPACE;
    if (mayBegin && text.startsWith(OPEN, tagAt)) {
      this.#state = 'inside';
      this.#reasoning.gap();
      return text.slice(tagAt + OPEN.length);
    }
    if (!ended && mayBegin && OPEN.startsWith(text.slice(tagAt))) {
      this.#held = text;
      return '';
    }
    this.#state = 'text';
    return text;
  }

  #readInside(text: string, ended: boolean): string {
    const tagAt = text.indexOf(CLOSE);
    if (tagAt !== -1) {
      this.#state = 'after';
      this.#reasoning.write(text.slice(0, tagAt));
      return text.slice(tagAt + CLOSE.length);
    }
    const partial = ended ? 0 : partialLength(text, CLOSE);
    this.#reasoning.write(text.slice(0, text.length - partial));
    this.#held = text.slice(text.length - partial);
    return '';
  }

  #readAfter(text: string): string {
    const from = leadingSpace(text);
    if (from < text.length) this.#state = 'text';
    return text.slice(from);
  }
}

function leadingSpace(text: string): number {
  let length = 0;
  while (isSpace(text.charAt(length))) length += 1;
  return length;
}

/** How much of the text's end is the beginning of the tag. */
function partialLength(text: string, tag: string): number {
  let length = Math.min(tag.length - 1, text.length);
  while (!text.endsWith(tag.slice(0, length))) length -= 1;
  return length;
}

function piecesOf(type: SplitPiece['type'], text: string): readonly SplitPiece[] {
  return text === '' ? [] : [{ type, text }];
}
