import type { JsonObject } from '@turnwire/shared/domain/json';
import { CALL_CLOSE, CALL_OPEN } from './tags.ts';

/** A call as a model is to write it, with the spaces of the chat templates that open models are trained with. */
export function callText(name: string, args: JsonObject): string {
  return `${CALL_OPEN}\n{"name": ${JSON.stringify(name)}, "arguments": ${JSON.stringify(args)}}\n${CALL_CLOSE}`;
}
