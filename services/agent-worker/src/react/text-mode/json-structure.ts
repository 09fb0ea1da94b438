import { isBareWord, strictString, strictWord } from './strict-token.ts';
import { isSpace } from './tags.ts';

interface Level {
  readonly closer: '}' | ']';
  /** What the next item of it is; elements of arrays are values. */
  slot: 'key' | 'value';
}

/**
 * Follows one JSON object unit by unit, knows where it ends, and writes it anew as strict JSON. It takes the small
 * faults of language models that leave no doubt about what is meant, and names them: Python's literals and single
 * quotes, bare words, raw line breaks in strings, single backslashes, trailing commas. Where there is doubt, as after an
 * unescaped quote in a string, it is `broken` for good.
 */
export class JsonStructure {
  readonly faults = new Set<string>();
  deepest = 0;
  broken = false;
  /** The object is closed. Nothing is taken any more. */
  complete = false;
  /** Some backslashes begin an escape and some do not: nobody knows which of them were meant to. */
  unclearEscapes = false;
  readonly #levels: Level[] = [];
  #strict = '';
  #quote = '';
  #escaped = false;
  /** The string or word that is being read. */
  #token = '';
  #escapes = { valid: false, single: false };
  /** Whether an item may begin here; if not, something has to follow the last one. */
  #expectsItem = true;
  /** The last unit outside of strings and words that is no white space. */
  #mark = '';

  get depth(): number {
    return this.#levels.length;
  }

  get inString(): boolean {
    return this.#quote !== '';
  }

  /** Whether the item at this place, or the one just read, is a key. */
  get atKey(): boolean {
    return this.#levels.at(-1)?.slot === 'key';
  }

  take(char: string): void {
    if (this.broken || this.complete) return;
    if (this.#quote !== '') this.#takeInString(char);
    else if (isSpace(char)) this.#endWord();
    else if (char === '"' || char === "'") this.#openString(char);
    else if ('{}[]:,'.includes(char)) this.#takeMark(char);
    else this.#takeInWord(char);
  }

  /**
   * The object as strict JSON; null if it is broken, or lacks more than closing brackets. `ended`: the writer said that
   * this is all, so that the last word is whole and a last comma is none too many.
   */
  close(ended: boolean): string | null {
    if (this.complete) return this.#strict;
    if (this.inString || (this.#token !== '' && !ended)) return null;
    this.#endWord();
    if (this.broken || this.depth === 0) return null;
    if (this.#expectsItem ? !ended || this.#mark !== ',' : this.atKey) return null;
    const closers = this.#levels.map(({ closer }) => closer).reverse();
    return this.#withoutComma() + closers.join('');
  }

  #takeInString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === '\\') this.#escaped = true;
    else if (char === this.#quote) {
      this.#endString();
      return;
    }
    this.#token += char;
  }

  #openString(quote: string): void {
    this.#endWord();
    if (!this.#beginItem()) return;
    this.#quote = quote;
    if (quote === "'") this.faults.add('single quotes');
  }

  #endString(): void {
    const { json, escapes, rawControls } = strictString(this.#token);
    this.#strict += json;
    if (rawControls) this.faults.add('raw line breaks or tabs in a string');
    if (escapes.single) this.faults.add('single backslashes');
    this.#escapes.single ||= escapes.single;
    this.#escapes.valid ||= escapes.valid;
    this.unclearEscapes = this.#escapes.single && this.#escapes.valid;
    this.#quote = '';
    this.#token = '';
    this.#expectsItem = false;
  }

  #takeInWord(char: string): void {
    if (this.#token === '' && !this.#beginItem()) return;
    this.#token += char;
    this.#expectsItem = false;
  }

  #endWord(): void {
    const word = this.#token;
    if (word === '') return;
    this.#token = '';
    const known = this.atKey ? undefined : strictWord(word);
    if (known !== undefined) {
      this.#strict += known;
      if (known !== word) this.faults.add('Python literals');
    } else if (isBareWord(word)) {
      this.#strict += `"${word}"`;
      this.faults.add('words without quotes');
    } else this.broken = true;
  }

  #beginItem(): boolean {
    this.broken = !this.#expectsItem || this.depth === 0;
    return !this.broken;
  }

  #takeMark(char: string): void {
    this.#endWord();
    if (this.broken) return;
    if (char === '{' || char === '[') this.#open(char);
    else if (char === ',') this.#comma();
    else if (char === ':') this.#colon();
    else this.#close(char);
    this.#mark = char;
  }

  #open(opener: '{' | '['): void {
    const isObject = opener === '{';
    if (!this.#expectsItem || this.atKey || (this.depth === 0 && !isObject)) {
      this.broken = true;
      return;
    }
    this.#strict += opener;
    this.#levels.push(isObject ? { closer: '}', slot: 'key' } : { closer: ']', slot: 'value' });
    this.deepest = Math.max(this.deepest, this.depth);
  }

  #comma(): void {
    const level = this.#levels.at(-1);
    if (level === undefined || this.#expectsItem || this.atKey) {
      this.broken = true;
      return;
    }
    this.#strict += ',';
    if (level.closer === '}') level.slot = 'key';
    this.#expectsItem = true;
  }

  #colon(): void {
    const level = this.#levels.at(-1);
    if (level?.slot !== 'key' || this.#expectsItem) {
      this.broken = true;
      return;
    }
    this.#strict += ':';
    level.slot = 'value';
    this.#expectsItem = true;
  }

  #close(closer: string): void {
    const isEmpty = this.#mark === '{' || this.#mark === '[';
    const isWhole = this.#expectsItem ? isEmpty || this.#mark === ',' : !this.atKey;
    if (this.#levels.at(-1)?.closer !== closer || !isWhole) {
      this.broken = true;
      return;
    }
    if (this.#expectsItem && this.#mark === ',') this.faults.add('a trailing comma');
    this.#strict = this.#withoutComma() + closer;
    this.#levels.pop();
    this.#expectsItem = false;
    this.complete = this.depth === 0;
  }

  #withoutComma(): string {
    return this.#expectsItem && this.#mark === ',' ? this.#strict.slice(0, -1) : this.#strict;
  }
}
