import { JsonStructure } from './json-structure.ts';
import { isArgumentsKey } from './read-call.ts';

/** What came of a call since the last time. */
export interface CallFragment {
  /** Given once, when it is complete; null before and after. */
  readonly name: string | null;
  readonly arguments: string;
}

/** The JSON of one call while it arrives: where it ends, its name, and its arguments piece by piece. */
export class CallBody {
  readonly #structure = new JsonStructure();
  #text = '';
  /** The last key of the outer object. */
  #key = '';
  readonly #keys = new Set<string>();
  #repeatedKey: string | null = null;
  #string = '';
  #name: string | null = null;
  #nameGiven = false;
  #inArguments = false;
  #argumentsBegun = false;
  #fresh = '';
  readonly #tagsInString: number[] = [];
  #mistakenTag: number | null = null;

  get text(): string {
    return this.#text;
  }

  get complete(): boolean {
    return this.#structure.complete;
  }

  /** Whether a tag here would be content. Where the structure is unclear it is taken for what it looks like. */
  get inString(): boolean {
    return this.#structure.inString;
  }

  get name(): string | null {
    return this.#name;
  }

  /** A key that the outer object has twice: one of its values would be lost. */
  get repeatedKey(): string | null {
    return this.#repeatedKey;
  }

  get argumentsBegun(): boolean {
    return this.#argumentsBegun;
  }

  /** Whether the structure is unclear because a tag was taken for content. */
  get mistookTag(): boolean {
    return this.#mistakenTag !== null;
  }

  take(char: string): void {
    const { depth, inString, broken } = this.#structure;
    this.#text += char;
    this.#structure.take(char);
    if (this.#structure.broken) {
      this.#inArguments = false;
      if (!broken) this.#mistakenTag = this.#findMistakenTag();
    } else if (this.#inArguments) this.#takeArgument(char);
    else this.#takeOuter(char, depth, inString);
  }

  takeTagInString(tag: string): void {
    this.#tagsInString.push(this.#text.length);
    for (const char of tag) this.take(char);
  }

  /** The reply is complete: a string that is still open has no end, and a tag may have been taken for a part of it. */
  endReply(): void {
    if (this.inString) this.#mistakenTag = this.#findMistakenTag();
  }

  /** Ends the call before the tag that was taken for content; answers what there is from that tag on. */
  cutAtTag(): string {
    const at = this.#mistakenTag ?? this.#text.length;
    const rest = this.#text.slice(at);
    this.#text = this.#text.slice(0, at);
    return rest;
  }

  fragment(): CallFragment | null {
    const name = this.#nameGiven ? null : this.#name;
    const fresh = this.#fresh;
    if (name === null && fresh === '') return null;
    this.#nameGiven ||= name !== null;
    this.#fresh = '';
    return { name, arguments: fresh };
  }

  #findMistakenTag(): number | null {
    return this.#tagsInString.find((at) => isPlainTag(this.#text, at)) ?? null;
  }

  #takeArgument(char: string): void {
    this.#fresh += char;
    if (this.#structure.depth === 1) this.#inArguments = false;
  }

  #takeOuter(char: string, depthBefore: number, inStringBefore: boolean): void {
    const { depth, inString } = this.#structure;
    if (depthBefore === 1 && depth === 2) this.#takeOpening(char);
    if (depth !== 1) return;
    if (inString && !inStringBefore) this.#string = '';
    else if (inString) this.#string += char;
    else if (inStringBefore) this.#takeString(unescaped(this.#string));
  }

  #takeOpening(char: string): void {
    if (char !== '{' || this.#argumentsBegun || !isArgumentsKey(this.#key)) return;
    this.#argumentsBegun = true;
    this.#inArguments = true;
    this.#fresh = char;
  }

  #takeString(value: string): void {
    if (this.#structure.atKey) this.#takeKey(value);
    else if (this.#key === 'name' && value.trim() !== '') this.#name ??= value.trim();
  }

  #takeKey(key: string): void {
    if (this.#keys.has(key)) this.#repeatedKey ??= key;
    this.#keys.add(key);
    this.#key = key;
  }
}

const PLAIN_TAG = /<\/tool_call>[ \t\r]*(?:\n|<tool_call>|$)|<tool_call>\s*\{\s*["']/y;

/** Whether a tag in a string stands as it would outside of one: in a string, line breaks and quotes are escaped. */
function isPlainTag(text: string, at: number): boolean {
  PLAIN_TAG.lastIndex = at;
  return PLAIN_TAG.test(text);
}

function unescaped(string: string): string {
  if (!string.includes('\\')) return string;
  try {
    return String(JSON.parse(`"${string}"`));
  } catch {
    return string;
  }
}
