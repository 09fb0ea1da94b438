import { isJsonObject, type Json, type JsonObject } from '@turnwire/shared/domain/json';
import type { ToolDefinition } from '@turnwire/shared/ports/language-model';
import { callText } from './call-text.ts';
import { describeArguments } from './describe-arguments.ts';
import { RESULT_OPEN } from './tags.ts';

/**
 * The tools in plain words, and how to call them, for the system message; empty without tools. The same tools give the
 * same text whatever order they come in, so that providers' prompt caches keep it.
 */
export function describeTools(tools: readonly ToolDefinition[]): string {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = sorted;
  if (first === undefined) return '';
  return [howToCall(sorted.find(needsArguments) ?? first), ...sorted.map(describeTool)].join('\n\n');
}

function howToCall({ name, parameters }: ToolDefinition): string {
  return [
    '# Tools',
    '',
    'To call a tool, write a JSON object with its name and its arguments between tags, in this form:',
    callText(name, exampleOf(parameters)),
    'Each call has tags of its own and stands outside of code blocks. End your message after your last call: the results',
    `come in the next message, in ${RESULT_OPEN} tags and in the order of the calls. Never write ${RESULT_OPEN} yourself.`,
  ].join('\n');
}

function describeTool({ name, description, parameters }: ToolDefinition): string {
  const args = describeArguments(parameters);
  const parts = [`## ${name}`, description.trim(), args === '' ? 'No arguments.' : `Arguments:\n${args}`];
  return parts.filter((part) => part !== '').join('\n');
}

function needsArguments({ parameters }: ToolDefinition): boolean {
  return Object.keys(exampleOf(parameters)).length > 0;
}

/** The required arguments with values that show their form. */
function exampleOf({ properties, required }: JsonObject): JsonObject {
  if (!isJsonObject(properties) || !Array.isArray(required)) return {};
  const names = required.filter((name): name is string => typeof name === 'string' && Object.hasOwn(properties, name));
  return Object.fromEntries(names.map((name) => [name, exampleValue(properties[name])]));
}

const EXAMPLES: Readonly<Record<string, Json>> = { number: 1, integer: 1, boolean: true, array: [], object: {} };

function exampleValue(schema: Json | undefined): Json {
  if (!isJsonObject(schema)) return '...';
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? '...';
  const given = schema.default ?? schema.const;
  if (given !== undefined) return given;
  return typeof schema.type === 'string' ? (EXAMPLES[schema.type] ?? '...') : '...';
}
