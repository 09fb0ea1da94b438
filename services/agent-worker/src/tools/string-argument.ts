import type { JsonObject } from '@turnwire/shared/domain/json';
import { ToolError } from './tool-error.ts';

/** A text argument, trimmed. A hook may have changed arguments after they were validated, so the type is looked at again. */
export function stringArgument(args: JsonObject, name: string): string {
  const value = args[name];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new ToolError(`The argument "${name}" must be a text that is not empty.`);
}
