import { isJsonObject, type JsonObject } from '@turnwire/shared/domain/json';
import { JsonStructure } from './json-structure.ts';

/** A JSON object as a model wrote it, or the reason, for the model, why it cannot be used. */
export type ReadJson =
  | { readonly value: JsonObject; readonly faults: readonly string[]; readonly invalid: null }
  | { readonly value: null; readonly faults: readonly []; readonly invalid: string };

/** Deeper values overflow the stack of whatever writes them as JSON again; no tool needs them. */
const MAX_DEPTH = 200;

const NOT_JSON = 'The JSON is not valid; send the call again with a valid object.';
const NO_OBJECT = 'The JSON is not an object; send the call again with a valid object.';
const CUT_OFF = 'The JSON was cut off before it was complete; send the call again, whole.';
const BACKSLASH = 'A backslash in a JSON string is written as two; send the call again with valid JSON.';
const TOO_DEEP = `The JSON is nested more than ${MAX_DEPTH} levels deep.`;

/**
 * Reads one JSON object and repairs small faults in it, but only those that leave no doubt about what is meant: nothing
 * of the content is dropped, completed or guessed at. A call that runs with half its content is worse than one that the
 * model sends again. The repair libraries go further: jsonrepair 3.15 completes `1.`, drops an ellipsis, takes a string
 * that begins with a bracket for several, and needs seconds for 100 kB of unescaped quotes.
 *
 * `ended`: the writer marked the end of the text. If not, it may be cut off within its last word.
 */
export function readJsonObject(text: string, ended: boolean): ReadJson {
  const { structure, rest } = follow(text);
  if (structure.deepest > MAX_DEPTH) return refused(TOO_DEEP);
  const value = parse(text);
  if (value !== undefined) return isJsonObject(value) ? accepted(value, []) : refused(NO_OBJECT);
  return repair(structure, rest, ended);
}

function repair(structure: JsonStructure, rest: string, ended: boolean): ReadJson {
  const strict = structure.close(ended);
  if (strict === null) return refused(structure.broken ? NOT_JSON : CUT_OFF);
  if (!/^[\s}\]]*$/.test(rest)) return refused(NOT_JSON);
  if (structure.unclearEscapes) return refused(BACKSLASH);
  const value = parse(strict);
  if (!isJsonObject(value)) return refused(BACKSLASH); // half an escape, such as `\u00`, is left as it was
  const more = [
    ...(structure.complete ? [] : ['missing closing brackets']),
    ...(rest.trim() === '' ? [] : ['too many closing brackets']),
  ];
  return accepted(value, [...structure.faults, ...more]);
}

/** Reads the object at the beginning of the text; `rest` is what follows it. */
function follow(text: string): { readonly structure: JsonStructure; readonly rest: string } {
  const structure = new JsonStructure();
  let at = 0;
  while (at < text.length && !structure.complete && !structure.broken) {
    structure.take(text.charAt(at));
    at += 1;
  }
  return { structure, rest: text.slice(at) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function accepted(value: JsonObject, faults: readonly string[]): ReadJson {
  return { value, faults, invalid: null };
}

function refused(invalid: string): ReadJson {
  return { value: null, faults: [], invalid };
}
