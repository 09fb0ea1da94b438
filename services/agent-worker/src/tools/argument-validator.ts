import type { ToolDefinition } from '@turnwire/shared/ports/language-model';
import type { Tool } from '@turnwire/shared/ports/tool';
import { Ajv, type AnySchemaObject, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** What is wrong with a call's arguments, in one short sentence with its path; null: nothing. */
export type ArgumentValidator = (tool: Tool, args: unknown) => string | null;

type Check = (args: unknown) => string | null;

const OPTIONS = { strict: false, allErrors: false, coerceTypes: false, useDefaults: false, logger: false } as const;

/** Schemas are compiled once per definition. Arguments are never changed: no coercion, no defaults. */
export function createArgumentValidator(): ArgumentValidator {
  const compile = createCompiler();
  const checks = new WeakMap<ToolDefinition, Check>();
  return ({ definition }, args) => {
    let check = checks.get(definition);
    if (check === undefined) {
      check = compile(definition);
      checks.set(definition, check);
    }
    return check(args);
  };
}

/** JSON Schema 2020-12; what does not compile as that is read as draft-07, whose tuples and `definitions` differ. */
function createCompiler(): (definition: ToolDefinition) => Check {
  const drafts = [new Ajv2020(OPTIONS), new Ajv(OPTIONS)];
  for (const draft of drafts) addFormats.default(draft);
  return ({ name, parameters }) => {
    // The dialect is found by trying, and `$id`s of different tools may be the same.
    const { $schema: _dialect, $id: _id, ...schema } = parameters;
    let problem: unknown;
    for (const draft of drafts) {
      try {
        return toCheck(compileOnce(draft, schema));
      } catch (error) {
        problem = error;
      }
    }
    const sentence = `The JSON Schema of the tool "${name}" cannot be used: ${messageOf(problem)}.`;
    return () => sentence;
  };
}

function compileOnce(draft: Ajv, schema: AnySchemaObject): ValidateFunction {
  try {
    return draft.compile(schema);
  } finally {
    draft.removeSchema(schema); // its own cache would keep schemas of tools that are long gone
  }
}

function toCheck(validate: ValidateFunction): Check {
  return (args) => (validate(args) === true ? null : describe(validate.errors?.[0]));
}

function describe(error: ErrorObject | undefined): string {
  if (error === undefined) return 'The arguments do not follow the tool’s JSON Schema.';
  const { instancePath, keyword, message = 'is not valid' } = error;
  const params: Readonly<Record<string, unknown>> = error.params;
  const where = `arguments${instancePath.replaceAll('/', '.')}`;
  switch (keyword) {
    case 'required':
      return `${where}.${params.missingProperty} is required.`;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `${where}.${params.additionalProperty ?? params.unevaluatedProperty} is not a known argument.`;
    case 'enum':
      return `${where} must be one of ${JSON.stringify(params.allowedValues)}.`;
    case 'const':
      return `${where} must be ${JSON.stringify(params.allowedValue)}.`;
    default:
      return `${where} ${message}.`;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
