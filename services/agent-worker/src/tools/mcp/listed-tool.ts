import { isJsonObject, type JsonObject } from '@turnwire/shared/domain/json';
import { z } from 'zod';

/** One page of `tools/list`. Tools are read one by one, so that a malformed one does not take the others with it. */
export const toolPageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const listedTool = z.looseObject({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.custom<JsonObject>(isJsonObject).optional(),
  annotations: z
    .looseObject({ idempotentHint: z.boolean().optional(), readOnlyHint: z.boolean().optional() })
    .optional(),
});

/** A tool as its server lists it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly idempotent: boolean;
}

/** Null: it is not a tool that could be called. */
export function toListedTool(value: unknown): ListedTool | null {
  const parsed = listedTool.safeParse(value);
  if (!parsed.success) return null;
  const { name, title, description, inputSchema = {}, annotations } = parsed.data;
  return {
    name,
    description: description ?? title ?? '',
    parameters: { ...inputSchema, type: 'object', properties: propertiesOf(inputSchema) },
    idempotent: annotations?.idempotentHint === true || annotations?.readOnlyHint === true,
  };
}

/** Model providers insist on `properties`, also where there are none. */
function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}
