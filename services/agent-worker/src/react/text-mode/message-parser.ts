import { CallReader } from './call-reader.ts';
import { Input } from './input.ts';
import type { ParsedPiece } from './parsed-piece.ts';
import { MAX_HELD_SPACE, ShownText } from './shown-text.ts';
import { CALL_OPEN } from './tags.ts';
import { TextReader } from './text-reader.ts';
import { WholeCharacters } from './whole-characters.ts';

/**
 * The most text, in UTF-16 units, that is held back because it may be the beginning of something that is not shown:
 * white space that may come before a call, the opening tag, and white space after it, until it is clear what is meant.
 */
export const MAX_HELD = MAX_HELD_SPACE + CALL_OPEN.length + MAX_HELD_SPACE;

export interface MessageParser {
  /** Takes the next text of the reply, cut anywhere; answers what is certain by now. */
  push(text: string): readonly ParsedPiece[];
  /** The reply is complete: answers the rest. Nothing comes after it. */
  end(): readonly ParsedPiece[];
}

/**
 * Splits a reply in text mode into what is shown and the tool calls in it. README.md says what it makes of the odd
 * things that models write. The work of a push is linear in what is pushed, however long the text or call is.
 */
export function createMessageParser(): MessageParser {
  return new HermesParser();
}

class HermesParser implements MessageParser {
  readonly #whole = new WholeCharacters();
  readonly #input = new Input();
  readonly #shown = new ShownText();
  readonly #textReader = new TextReader(this.#shown);
  readonly #callReader = new CallReader((piece) => this.#emit(piece));
  #mode: 'text' | 'call' | 'cut' = 'text';
  #pieces: ParsedPiece[] = [];

  push(text: string): readonly ParsedPiece[] {
    this.#input.add(this.#whole.push(text));
    this.#read();
    return this.#take(this.#shown.take());
  }

  end(): readonly ParsedPiece[] {
    this.#input.add(this.#whole.end());
    this.#input.end();
    this.#read();
    return this.#take(this.#shown.end());
  }

  #read(): void {
    while (this.#mode !== 'cut') {
      const next = this.#mode === 'text' ? this.#textReader.read(this.#input) : this.#callReader.read(this.#input);
      if (next === 'wait') return;
      this.#mode = next;
      if (next === 'cut') this.#endAtCut();
    }
    this.#input.take(this.#input.length);
  }

  #endAtCut(): void {
    this.#shown.gap();
    this.#emit({ type: 'cut' });
  }

  /** Text that came before a piece is told before it. */
  #emit(piece: ParsedPiece): void {
    this.#emitText(this.#shown.take());
    this.#pieces.push(piece);
  }

  #emitText(text: string): void {
    if (text !== '') this.#pieces.push({ type: 'text', text });
  }

  #take(text: string): readonly ParsedPiece[] {
    this.#emitText(text);
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}
