import type { JsonObject } from '@turnwire/shared/domain/json';
import { readJsonObject } from './repair-json.ts';

export interface RepairedArguments {
  /** `{}` where they could not be read. */
  readonly arguments: JsonObject;
  /** Why they cannot be used, for the model, or null. */
  readonly invalid: string | null;
  /** What was wrong with them and was put right, for the model, or null. */
  readonly repaired: string | null;
}

/**
 * Arguments as JSON text, in native and text mode alike. Nothing at all stands for no arguments, and JSON within a JSON
 * string for what it says. `faults`: what was put right before.
 */
export function repairArguments(json: string, faults: readonly string[] = []): RepairedArguments {
  const text = json.trim();
  if (text === '') return { arguments: {}, invalid: null, repaired: repairNote(faults) };
  const inner = innerText(text);
  if (inner?.trim() === '') return repairArguments('', faults);
  if (inner !== null) return repairArguments(inner, [...faults, 'arguments in a string']);
  const read = readJsonObject(text, true);
  if (read.value === null) return { arguments: {}, invalid: read.invalid, repaired: null };
  return { arguments: read.value, invalid: null, repaired: repairNote([...faults, ...read.faults]) };
}

/** One short line. */
export function repairNote(faults: readonly string[]): string | null {
  if (faults.length === 0) return null;
  return `The call had small faults, which were repaired (${[...new Set(faults)].join('; ')}). Write strict JSON.`;
}

function innerText(text: string): string | null {
  if (!text.startsWith('"')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
