import { isJsonObject, type Json, type JsonObject } from '@turnwire/shared/domain/json';

/** Deeper arguments are named by their type alone; it also ends schemas that refer to themselves. */
const MAX_DEPTH = 4;

const LIMITS = ['format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'];

/** A tool's arguments (a JSON Schema) in plain words, one line each; empty if it takes none. */
export function describeArguments(parameters: JsonObject): string {
  return lines(parameters, parameters, 0).join('\n');
}

function lines(schema: JsonObject, root: JsonObject, depth: number): readonly string[] {
  const { properties, required } = resolved(schema, root);
  if (!isJsonObject(properties) || depth >= MAX_DEPTH) return [];
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).flatMap(([name, property]) => {
    const inner = resolved(property, root);
    const parts = [typeOf(inner, root, depth), ...(needed.has(name) ? ['required'] : []), ...limits(inner)];
    const line = `${'  '.repeat(depth)}- ${name} (${parts.join(', ')})${description(inner)}`;
    return [line, ...lines(inner.type === 'array' ? resolved(inner.items, root) : inner, root, depth + 1)];
  });
}

function description(schema: JsonObject): string {
  if (typeof schema.description !== 'string') return '';
  const line = schema.description.replace(/\s+/g, ' ').trim();
  return line === '' ? '' : `: ${line}`;
}

function limits(schema: JsonObject): readonly string[] {
  const said = LIMITS.filter((key) => schema[key] !== undefined).map((key) => `${key} ${plain(schema[key])}`);
  return schema.default === undefined ? said : [...said, `default ${JSON.stringify(schema.default)}`];
}

function typeOf(schema: JsonObject, root: JsonObject, depth: number): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices) && depth < MAX_DEPTH) {
    const types = choices.map((choice: Json) => typeOf(resolved(choice, root), root, depth + 1));
    return [...new Set(types)].join(' | ');
  }
  if (Array.isArray(schema.type)) return schema.type.join(' | ');
  if (schema.type === 'array' && isJsonObject(schema.items) && depth < MAX_DEPTH) {
    return `array of ${typeOf(resolved(schema.items, root), root, depth + 1)}`;
  }
  if (typeof schema.type === 'string') return schema.type;
  return schema.properties === undefined ? 'any' : 'object';
}

/** The schema itself, with what it refers to in the same document. */
function resolved(schema: Json | undefined, root: JsonObject, left = MAX_DEPTH): JsonObject {
  if (!isJsonObject(schema)) return {};
  const { $ref: reference, allOf, ...own } = schema;
  const base = Array.isArray(allOf) && allOf.length === 1 ? allOf[0] : lookUp(reference, root);
  return base === undefined || left === 0 ? own : { ...resolved(base, root, left - 1), ...own };
}

function lookUp(reference: Json | undefined, root: JsonObject): Json | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined;
  const path = reference.slice(2).split('/');
  return path.reduce<Json | undefined>((at, key) => (isJsonObject(at) ? at[unescaped(key)] : undefined), root);
}

/** RFC 6901, section 3. */
function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

function plain(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
