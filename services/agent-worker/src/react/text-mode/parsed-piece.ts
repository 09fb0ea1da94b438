import type { JsonObject } from '@turnwire/shared/domain/json';

/** A call as it was read from the text: the same as one that was put together from a native stream, and a bit more. */
export interface ParsedCall {
  /** In text mode there are none. */
  readonly id: null;
  /** Empty where none could be read. */
  readonly name: string;
  /** `{}` where they could not be read. */
  readonly arguments: JsonObject;
  /** Why the call cannot be run, for the model, or null. */
  readonly invalid: string | null;
  /** What was wrong with it and was put right, for the model, or null. */
  readonly repaired: string | null;
  /** Whether its end was marked. If not, the reply ended or went on without that: with finish reason `length` it is half a call. */
  readonly closed: boolean;
}

/**
 * A piece of a reply in text mode.
 *
 * `tool_call`, partial: a fragment as of a native stream; `index` counts the calls of the reply from 0. The `arguments`
 * of its fragments are the beginning of their JSON text as the model writes it, faults and all; of a call that is
 * neither invalid nor repaired they are all of it. · `tool_call`, not partial: the end of the call, and the one that
 * counts. A call may have no fragments, never two ends. · `cut`: the model went on to write a tool's result itself;
 * nothing comes after this, so the stream need not be read on.
 */
export type ParsedPiece =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly partial: true;
      readonly index: number;
      readonly id: null;
      readonly name: string | null;
      readonly arguments: string;
    }
  | { readonly type: 'tool_call'; readonly partial: false; readonly index: number; readonly call: ParsedCall }
  | { readonly type: 'cut' };
