import { isRecord, type JsonSchema } from '../chat-request.ts';
import { findJsonObject } from './find-json.ts';
import { MAX_READ } from './fold-width.ts';
import { readTextValues, type TextValues } from './text-values.ts';

/**
 * Arguments for a schema, made from a text by simple means. JSON in the text wins. Otherwise every required property
 * gets what fits its type and name (an address, a quotation, a number …), and an optional one only what the text gives
 * it by its name (`key=value`).
 */
export function fillArguments(schema: JsonSchema | undefined, text: string): Record<string, unknown> {
  return findJsonObject(text) ?? fillObject(schema ?? {}, readTextValues(text.slice(0, MAX_READ)));
}

/** The property that takes a call's one subject: the first of these names, else the first required string, else any. */
export function subjectProperty(schema: JsonSchema | undefined, names: readonly string[]): string {
  const properties = propertiesOf(schema ?? {});
  const keys = Object.keys(properties);
  const strings = keys.filter((key) => properties[key]?.type === 'string');
  return (
    keys.find((key) => names.includes(key.toLowerCase().replaceAll('_', ''))) ??
    requiredOf(schema ?? {}).find((key) => strings.includes(key)) ??
    strings[0] ??
    names[0] ??
    'input'
  );
}

function fillObject(schema: JsonSchema, values: TextValues): Record<string, unknown> {
  const required = requiredOf(schema);
  const filled: Record<string, unknown> = {};
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    const explicit = values.explicit(key);
    if (explicit !== undefined) filled[key] = convert(explicit, property);
    else if (required.includes(key)) filled[key] = fillValue(key, property, values);
  }
  for (const key of required) if (!(key in filled)) filled[key] = fillString(key, {}, values);
  return filled;
}

function fillValue(key: string, schema: JsonSchema, values: TextValues): unknown {
  const fixed = fixedValue(schema, values);
  if (fixed !== undefined) return fixed;
  const variants = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(variants)) return fillValue(key, isRecord(variants[0]) ? variants[0] : {}, values);
  switch (typeOf(schema)) {
    case 'number':
      return fillNumber(schema, values);
    case 'integer':
      return Math.round(fillNumber(schema, values));
    case 'boolean':
      return !/\b(?:no|not|false|off)\b|不/.test(values.rest());
    case 'array':
      return isRecord(schema.items) ? [fillValue(key, schema.items, values)] : [];
    case 'object':
      return fillObject(schema, values);
    case 'null':
      return null;
    default:
      return fillString(key, schema, values);
  }
}

/** What the schema itself gives: its constant, the choice that the text names (else the first), its default. */
function fixedValue(schema: JsonSchema, values: TextValues): unknown {
  const options = schema.enum;
  if (!Array.isArray(options)) return schema.const ?? schema.default;
  return options.find((option) => values.includes(String(option))) ?? options[0];
}

function fillNumber(schema: JsonSchema, values: TextValues): number {
  return values.takeNumber() ?? (typeof schema.minimum === 'number' ? schema.minimum : 1);
}

/** By format and name first, then the next quotation, then whatever the text says. */
function fillString(key: string, schema: JsonSchema, values: TextValues): string {
  const format = typeof schema.format === 'string' ? schema.format : '';
  const word = key.toLowerCase();
  const byName =
    (format === 'email' || /mail|^(?:to|cc|bcc|from)$|recipient/.test(word) ? values.takeEmail() : undefined) ??
    (/^ur[il]$/.test(format) || /url|link|href|endpoint/.test(word) ? values.takeUrl() : undefined) ??
    (format.startsWith('date') || /date|time|when|day/.test(word) ? values.date() : undefined) ??
    (/subject|title|topic/.test(word) ? values.about() : undefined) ??
    (/path|file|dir/.test(word) ? values.path() : undefined);
  if (byName !== undefined) return byName;
  const spoken = /subject|title|topic|body|message|text|content|note/.test(word) ? values.saying() : undefined;
  return values.takeQuoted() ?? spoken ?? (values.rest() || `(no ${key})`);
}

function convert(text: string, schema: JsonSchema): unknown {
  const type = typeOf(schema);
  const number = Number(text);
  if ((type === 'number' || type === 'integer') && Number.isFinite(number)) return number;
  if (type === 'boolean') return !/^(?:false|no|off|0|否)$/i.test(text);
  return type === 'array' ? text.split(/[,、]/) : text;
}

function typeOf(schema: JsonSchema): unknown {
  const type = schema.type ?? ('properties' in schema ? 'object' : 'string');
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type;
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, isRecord(value) ? value : {}]));
}

function requiredOf(schema: JsonSchema): readonly string[] {
  return Array.isArray(schema.required) ? schema.required.map(String) : [];
}
