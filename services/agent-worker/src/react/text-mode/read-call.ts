import { isJsonObject, type Json, type JsonObject } from '@turnwire/shared/domain/json';
import { type RepairedArguments, repairArguments, repairNote } from './repair-arguments.ts';
import { readJsonObject } from './repair-json.ts';

export interface ReadCall extends RepairedArguments {
  /** Empty where none could be read. */
  readonly name: string;
}

/** Models that were trained on other forms use these for `arguments`, where they hold an object. */
const ALIASES = ['parameters', 'args'];

/** What may stand beside the name without being an argument. */
const ENVELOPE = new Set(['id', 'type']);

const NO_NAME = 'The call names no tool; send it again as {"name": "...", "arguments": {...}}.';
const NO_ARGUMENTS = 'The call was cut off before its arguments; send it again, whole.';

/** Whether a key of a call holds its arguments, if its value is an object. */
export function isArgumentsKey(key: string): boolean {
  return key === 'arguments' || ALIASES.includes(key);
}

/**
 * Reads the JSON between the tags of a call, `{"name": ..., "arguments": {...}}`, and the forms that models fall into
 * instead. `ended`: something said that it ends there.
 */
export function readCall(text: string, ended: boolean): ReadCall {
  const json = readJsonObject(text, ended);
  if (json.value === null) return { name: '', arguments: {}, invalid: json.invalid, repaired: null };
  const inner = json.value.function;
  const call = isNamed(inner) ? inner : json.value;
  if (!isNamed(call)) return { name: '', arguments: {}, invalid: NO_NAME, repaired: null };
  return { name: call.name.trim(), ...argumentsOf(call, json.faults, ended) };
}

function isNamed(value: Json | undefined): value is JsonObject & { readonly name: string } {
  return isJsonObject(value) && typeof value.name === 'string' && value.name.trim() !== '';
}

function argumentsOf(call: JsonObject, faults: readonly string[], ended: boolean): RepairedArguments {
  const { name: _, ...beside } = call;
  if (Object.hasOwn(beside, 'arguments')) {
    const { arguments: given, ...others } = beside;
    return fromValue(given ?? null, [...faults, ...leftOut(others)]);
  }
  const alias = ALIASES.find((key) => isJsonObject(beside[key]));
  if (alias !== undefined) {
    const { [alias]: given, ...others } = beside;
    return fromValue(given ?? null, [...faults, `\`${alias}\` for \`arguments\``, ...leftOut(others)]);
  }
  const top = Object.fromEntries(Object.entries(beside).filter(([key]) => !ENVELOPE.has(key)));
  if (Object.keys(top).length > 0) return fromValue(top, [...faults, 'arguments beside the name']);
  // A call without arguments is one thing, a call that ends before it came to them another.
  return ended ? fromValue({}, faults) : { arguments: {}, invalid: NO_ARGUMENTS, repaired: null };
}

function fromValue(value: Json, faults: readonly string[]): RepairedArguments {
  if (value === null) return { arguments: {}, invalid: null, repaired: repairNote(faults) };
  if (isJsonObject(value)) return { arguments: value, invalid: null, repaired: repairNote(faults) };
  return repairArguments(JSON.stringify(value), faults);
}

/** Said to the model: an argument that it put in the wrong place is not used without a word. */
function leftOut(others: JsonObject): readonly string[] {
  const keys = Object.keys(others).filter((key) => !ENVELOPE.has(key));
  return keys.length === 0 ? [] : [`keys outside of the arguments, which were left out: ${keys.join(', ')}`];
}
