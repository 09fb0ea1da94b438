import { CallPieces } from './call-pieces.ts';
import type { Input } from './input.ts';
import type { ParsedPiece } from './parsed-piece.ts';
import { MAX_HELD_SPACE } from './shown-text.ts';
import { CALL_CLOSE, isSpace, RESULT_OPEN, type Tag } from './tags.ts';

/** `again`: the state changed · `wait`: for more text · `text`: the call is over · `cut`: so is all else. */
type Step = 'again' | 'wait' | 'text' | 'cut';

/**
 * - `start`: before the JSON of a call
 * - `body`: in it
 * - `tail`: after it; only its closing tag should follow
 * - `skip`: in something that cannot be read, until the next tag
 */
type State = 'start' | 'body' | 'tail' | 'skip';

/** Reads what stands in a call's tags: one object, or, as some models write, several, or a list of them. */
export class CallReader {
  readonly #pieces: CallPieces;
  #state: State = 'start';
  /** Backticks came: models also put a code block into the tags. */
  #inFence = false;
  /** The white space that the tail ends with so far, and what else was there. */
  #space = '';
  #tailHas = { lineBreak: false, comma: false };
  /** Whether what is skipped is a call that has not been told yet. */
  #skipsCall = false;

  constructor(emit: (piece: ParsedPiece) => void) {
    this.#pieces = new CallPieces(emit);
  }

  /** Reads on from after an opening tag, or from where it waited. */
  read(input: Input): 'wait' | 'text' | 'cut' {
    let step = this.#step(input);
    while (step === 'again') step = this.#step(input);
    if (this.#state === 'body') this.#pieces.flush();
    return step;
  }

  #step(input: Input): Step {
    switch (this.#state) {
      case 'start':
        return this.#readStart(input);
      case 'body':
        return this.#readBody(input);
      case 'tail':
        return this.#readTail(input);
      case 'skip':
        return this.#skip(input);
    }
  }

  #readStart(input: Input): Step {
    while (!input.done) {
      const { char } = input;
      if (char === '{') return this.#enter('body');
      const tag = input.tag();
      if (tag === 'wait') return 'wait';
      if (tag !== null) return this.#takeTag(tag, input);
      if (char === '`') this.#inFence = true;
      const isLanguage = this.#inFence && /[a-z]/i.test(char);
      if (!isSpace(char) && char !== '`' && char !== '[' && !isLanguage) {
        this.#skipsCall = true;
        return this.#enter('skip');
      }
      input.take();
    }
    return 'wait';
  }

  #readBody(input: Input): Step {
    const { body } = this.#pieces;
    while (!input.done) {
      const tag = input.tag();
      if (tag === 'wait') return 'wait';
      if (tag === null) body.take(input.take());
      else if (!body.inString) return this.#endAtTag(tag);
      else if (tag === 'cut off') body.take(input.take());
      else body.takeTagInString(input.take(tag.length));
      if (body.complete) return this.#enter('tail');
      if (body.mistookTag) return this.#rereadFromTag(input);
    }
    if (!input.ended) return 'wait';
    body.endReply();
    return body.mistookTag ? this.#rereadFromTag(input) : this.#endAtTag('cut off');
  }

  #endAtTag(tag: Tag | 'cut off'): Step {
    this.#pieces.end(tag === 'cut off' ? 'open' : 'closed');
    return this.#enter('start');
  }

  #rereadFromTag(input: Input): Step {
    input.unread(this.#pieces.body.cutAtTag());
    this.#pieces.end('closed');
    return this.#enter('start');
  }

  #readTail(input: Input): Step {
    while (!input.done) {
      const { char } = input;
      const tag = input.tag();
      if (tag === 'wait') return 'wait';
      if (tag !== null) return this.#endAtTag(tag);
      if (char === '{') {
        this.#pieces.end('closed');
        return this.#enter('body');
      }
      if (!isSpace(char) && !this.#isOfTail(char)) return this.#leaveTail(input);
      if (char === '\n') this.#tailHas.lineBreak = true;
      this.#space = isSpace(char) ? (this.#space + char).slice(-MAX_HELD_SPACE) : '';
      input.take();
    }
    if (!input.ended) return 'wait';
    return this.#endAtTag('cut off');
  }

  /** Beside white space: a bracket too many, or what closes a list or a code block. */
  #isOfTail(char: string): boolean {
    if (char === ',') this.#tailHas.comma = true;
    return '}],'.includes(char) || (char === '`' && this.#inFence);
  }

  /** Text on a new line: the closing tag was forgotten. Anything else belonged to the call: it is not what it seems. */
  #leaveTail(input: Input): Step {
    if (!this.#tailHas.lineBreak || this.#tailHas.comma) {
      this.#pieces.end('garbled');
      this.#skipsCall = false;
      return this.#enter('skip');
    }
    this.#pieces.end('open');
    input.unread(this.#space);
    this.#inFence = false;
    this.#enter('start');
    return 'text';
  }

  #skip(input: Input): Step {
    while (!input.done) {
      const tag = input.tag();
      if (tag === 'wait') return 'wait';
      if (tag === null) input.take();
      else {
        if (this.#skipsCall) this.#pieces.endForeign(tag === CALL_CLOSE);
        return this.#takeTag(tag, input);
      }
    }
    if (!input.ended) return 'wait';
    if (this.#skipsCall) this.#pieces.endForeign(false);
    return this.#enter('start');
  }

  /** Between calls: what the tag leads to. A pair of tags with nothing in it is no call. */
  #takeTag(tag: Tag | 'cut off', input: Input): Step {
    if (tag === RESULT_OPEN) return 'cut';
    input.take(tag === 'cut off' ? input.length : tag.length);
    this.#enter('start');
    this.#inFence = false;
    return tag === CALL_CLOSE ? 'text' : 'again';
  }

  #enter(state: State): 'again' {
    this.#state = state;
    this.#space = '';
    this.#tailHas = { lineBreak: false, comma: false };
    return 'again';
  }
}
