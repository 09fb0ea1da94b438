import { CodeTracker } from './code-tracker.ts';
import type { Input } from './input.ts';
import { MAX_HELD_SPACE, type ShownText } from './shown-text.ts';
import { CALL_OPEN, isSpace, RESULT_OPEN } from './tags.ts';

/** `again`: something was read · `wait`: for more text · `call`: one was opened · `cut`: a result of the model's own. */
type Step = 'again' | 'wait' | 'call' | 'cut';

/** Reads what is shown, until something else comes. */
export class TextReader {
  readonly #code = new CodeTracker();
  readonly #shown: ShownText;

  constructor(shown: ShownText) {
    this.#shown = shown;
  }

  read(input: Input): 'wait' | 'call' | 'cut' {
    while (!input.done) {
      const step = this.#step(input);
      if (step !== 'again') return step;
    }
    return 'wait';
  }

  #step(input: Input): Step {
    const tag = input.char === '<' && !this.#code.isCode() ? input.tag() : null;
    if (tag === 'wait') return 'wait';
    if (tag === CALL_OPEN) return this.#readOpening(input);
    // A result that the model makes up follows its call or begins a line; elsewhere it writes about the tag.
    if (tag === RESULT_OPEN && this.#code.atLineStart) return 'cut';
    if (tag === null || tag === RESULT_OPEN) this.#show(input.take(tag?.length));
    else this.#drop(input, tag === 'cut off' ? input.length : tag.length); // or a closing tag with nothing to close
    return 'again';
  }

  #readOpening(input: Input): Step {
    const meant = meaningOf(input);
    if (meant === 'wait') return 'wait';
    if (meant === 'text') {
      this.#show(input.take(CALL_OPEN.length));
      return 'again';
    }
    this.#drop(input, CALL_OPEN.length);
    // A call is a block of its own: what stood before it on its line says nothing about what comes after it.
    this.#code.newLine();
    return 'call';
  }

  #show(text: string): void {
    for (const char of text) this.#code.take(char);
    this.#shown.write(text);
  }

  #drop(input: Input, length: number): void {
    input.take(length);
    this.#shown.gap();
  }
}

/**
 * Whether an opening tag is meant: models also write about the tag. It begins a call if JSON or another tag follows, if
 * its line ends, or if a name follows at once (other forms of calls); with anything else on its line it is text.
 */
function meaningOf(input: Input): 'call' | 'text' | 'wait' {
  let length = CALL_OPEN.length;
  let spaces = 0;
  for (; spaces < MAX_HELD_SPACE; spaces += 1, length += 1) {
    const char = input.charAfter(length);
    if (char === '\n') return 'call';
    if (!isSpace(char)) break;
  }
  const next = input.charAfter(length);
  if (spaces === MAX_HELD_SPACE) return 'call';
  if (next === '') return input.ended ? 'call' : 'wait';
  return '{[<'.includes(next) || (spaces === 0 && /[a-z_]/i.test(next)) ? 'call' : 'text';
}
