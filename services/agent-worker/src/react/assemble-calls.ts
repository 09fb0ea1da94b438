import { isJsonObject, type JsonObject } from '@turnwire/shared/domain/json';
import type { ModelChunk } from '@turnwire/shared/ports/language-model';

type Fragment = Extract<ModelChunk, { type: 'tool_call' }>;

/** A tool call as the model sent it, before it has its final id and name. */
export interface AssembledCall {
  /** Null where the provider sent none. */
  readonly id: string | null;
  readonly name: string;
  /** `{}` where they could not be parsed. */
  readonly arguments: JsonObject;
  /** Why they could not be parsed, or null. */
  readonly invalid: string | null;
}

interface Draft {
  readonly index: number | null;
  id: string | null;
  name: string;
  json: string;
}

export interface CallAssembler {
  add(fragment: Fragment): void;
  calls(): readonly AssembledCall[];
}

/**
 * Puts tool calls together from the fragments of a stream. Providers differ: OpenAI interleaves by `index`, Gemini's
 * compatible endpoint gives every parallel call the index 0 and an id of its own, some send no index at all and some
 * no id, and some repeat the name with every fragment. So a fragment starts a new call if its index is new, or its id
 * is another than the call's, or it brings a name to a call whose arguments are complete.
 */
export function createCallAssembler(): CallAssembler {
  const drafts: Draft[] = [];
  return {
    add({ index, id: sentId, name: sentName, arguments: json }) {
      const id = sentId === '' ? null : sentId;
      const name = sentName ?? '';
      const current = drafts.findLast((draft) => index === null || draft.index === index);
      if (current === undefined || startsAnother(current, { id, name, json })) {
        drafts.push({ index, id, name, json });
        return;
      }
      current.id ??= id;
      if (current.name === '') current.name = name;
      current.json += json;
    },
    // What brought metadata alone is no call.
    calls: () =>
      drafts
        .filter(({ id, name, json }) => id !== null || name !== '' || json.trim() !== '')
        .map(({ id, name, json }) => ({ id, name, ...parseArguments(json) })),
  };
}

function startsAnother(
  current: Draft,
  next: { readonly id: string | null; readonly name: string; readonly json: string },
) {
  if (next.id !== null && current.id !== null) return next.id !== current.id;
  if (next.name === '' || current.name === '') return false;
  const repeats = next.name === current.name && (current.json === '' || next.json === '');
  return !repeats && parseArguments(current.json).invalid === null;
}

/** Arguments as JSON text; nothing at all stands for no arguments. */
export function parseArguments(json: string): Pick<AssembledCall, 'arguments' | 'invalid'> {
  if (json.trim() === '') return { arguments: {}, invalid: null };
  try {
    const value: unknown = JSON.parse(json);
    if (isJsonObject(value)) return { arguments: value, invalid: null };
    return { arguments: {}, invalid: 'The arguments are no JSON object.' };
  } catch {
    return { arguments: {}, invalid: 'The arguments are no valid JSON; send the call again with a complete object.' };
  }
}
