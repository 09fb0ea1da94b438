import { CallBody } from './call-body.ts';
import type { ParsedPiece } from './parsed-piece.ts';
import { readCall } from './read-call.ts';

const NOT_JSON =
  'The tool call is not written as JSON; send it again as {"name": "...", "arguments": {...}} between the tags.';
const MORE_THAN_JSON = 'There is more than the JSON object in the tool call; send it again with the object alone.';

/** How a call ended: with its tag, without one, or with text where its tag should be. */
export type CallEnd = 'closed' | 'open' | 'garbled';

/** Tells the calls of a reply as pieces, one call after the other. */
export class CallPieces {
  readonly #emit: (piece: ParsedPiece) => void;
  #body = new CallBody();
  #index = 0;

  constructor(emit: (piece: ParsedPiece) => void) {
    this.#emit = emit;
  }

  get body(): CallBody {
    return this.#body;
  }

  /** Gives out what came of the open call. */
  flush(): void {
    const fragment = this.#body.fragment();
    if (fragment !== null) this.#emitFragment(fragment.name, fragment.arguments);
  }

  /** Ends the open call. Its JSON is whole, or was ended by a tag, or by the reply (`open`). */
  end(end: CallEnd): void {
    const { name: nameSoFar, argumentsBegun, complete, repeatedKey, text } = this.#body;
    const fragment = this.#body.fragment();
    const read = readCall(text, complete || end === 'closed');
    const doubt = end === 'garbled' ? MORE_THAN_JSON : repeatedKey && `The tool call has "${repeatedKey}" twice.`;
    const call = doubt === null ? read : { ...read, arguments: {}, invalid: doubt, repaired: null };
    const name = call.name === '' ? (nameSoFar ?? '') : call.name;
    const lateName = nameSoFar === null && name !== '' ? name : null;
    const lateArguments = call.invalid === null && !argumentsBegun ? JSON.stringify(call.arguments) : '';
    this.#emitFragment(fragment?.name ?? lateName, (fragment?.arguments ?? '') + lateArguments);
    this.#emitEnd({ ...call, id: null, name, closed: end === 'closed' });
  }

  /** A call that has no JSON at all. */
  endForeign(closed: boolean): void {
    this.#emitEnd({ id: null, name: '', arguments: {}, invalid: NOT_JSON, repaired: null, closed });
  }

  #emitFragment(name: string | null, json: string): void {
    if (name === null && json === '') return;
    this.#emit({ type: 'tool_call', partial: true, index: this.#index, id: null, name, arguments: json });
  }

  #emitEnd(call: Extract<ParsedPiece, { partial: false }>['call']): void {
    this.#emit({ type: 'tool_call', partial: false, index: this.#index, call });
    this.#index += 1;
    this.#body = new CallBody();
  }
}
