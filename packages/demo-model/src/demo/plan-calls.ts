import type { ToolDefinition } from '../chat-request.ts';
import { fillArguments, subjectProperty } from './fill-arguments.ts';
import { findCalculation } from './find-calculation.ts';
import { findJsonObject } from './find-json.ts';
import { findNamedTools } from './find-named-tools.ts';
import { findTime } from './find-time.ts';
import { findWeather } from './find-weather.ts';
import { foldWidth, MAX_READ } from './fold-width.ts';
import type { Intent, IntentFinder } from './intent.ts';

type KnownTool = {
  tool: string;
  find: IntentFinder;
  /** Names of the parameter that takes the subject, in lower case without `_`; the first one that the schema has. */
  subjectNames: readonly string[];
};

const KNOWN_TOOLS: readonly KnownTool[] = [
  { tool: 'get_weather', find: findWeather, subjectNames: ['location', 'city', 'place', 'query', 'name', 'address'] },
  { tool: 'calculator', find: findCalculation, subjectNames: ['expression', 'expr', 'formula', 'input', 'query'] },
  { tool: 'current_time', find: findTime, subjectNames: ['timezone', 'tz', 'zone', 'location'] },
];

export type PlannedCall = { name: string; arguments: Record<string, unknown> };

/** What a text asks of tools. `missing`: tools that it needs and that are not offered; `noPlace`: weather of where? */
export type CallPlan = { calls: readonly PlannedCall[]; missing: readonly string[]; noPlace: boolean };

/**
 * Reads a text for everything that asks for a tool, in the order of the text.
 * @param home the place to take for weather when the text names none
 */
export function planCalls(text: string, tools: readonly ToolDefinition[], home: string | undefined): CallPlan {
  const folded = foldWidth(text.slice(0, MAX_READ));
  const names = tools.map((tool) => tool.function.name);
  const named = findNamedTools(folded, names).map((one) => ({ ...one, rest: text.slice(...one.rest) }));
  const withJson = named.filter(({ rest }) => findJsonObject(rest) !== undefined).map(({ tool }) => tool);
  // Inside the arguments of another tool ('use send_email to say "weather in Paris"') nothing is asked for.
  const spoken = folded.replace(/"[^"]*"|“[^”]*”|\{.*\}/gs, (quoted) => ' '.repeat(quoted.length));
  const intents = KNOWN_TOOLS.filter(({ tool }) => !withJson.includes(tool)).flatMap(({ tool, find }) =>
    find(spoken).map((found): Intent => ({ tool, ...found })),
  );
  const planned: { at: number; call: PlannedCall }[] = [];
  const missing = new Set<string>();
  let noPlace = false;
  for (const intent of intents) {
    const schema = schemaOf(tools, intent.tool);
    const subject = intent.subject ?? (intent.tool === 'get_weather' ? home : undefined);
    if (schema === undefined) missing.add(intent.tool);
    else if (intent.tool === 'get_weather' && subject === undefined) noPlace = true;
    else
      planned.push({ at: intent.at, call: { name: intent.tool, arguments: intentArguments(intent, subject, schema) } });
  }
  for (const { tool, at, rest } of named) {
    if (intents.some((intent) => intent.tool === tool)) continue;
    const schema = schemaOf(tools, tool);
    planned.push({ at, call: { name: tool, arguments: fillArguments(schema, rest) } });
  }
  planned.sort((one, other) => one.at - other.at);
  return { calls: planned.map(({ call }) => call), missing: [...missing], noPlace };
}

function intentArguments(intent: Intent, subject: string | undefined, schema: Record<string, unknown>) {
  const names = KNOWN_TOOLS.find(({ tool }) => tool === intent.tool)?.subjectNames ?? [];
  const key = subjectProperty(schema, names);
  if (subject !== undefined) return { [key]: subject };
  const required = schema.required;
  return Array.isArray(required) && required.includes(key) ? { [key]: 'UTC' } : {};
}

/** The parameters of an offered tool, `{}` if it declares none; `undefined` if it is not offered. */
function schemaOf(tools: readonly ToolDefinition[], name: string): Record<string, unknown> | undefined {
  const tool = tools.find((one) => one.function.name === name);
  return tool === undefined ? undefined : { ...tool.function.parameters };
}
