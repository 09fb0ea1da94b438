import { AppError } from '@turnwire/shared/domain/errors';
import { z } from 'zod';

interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** A body can be wrong in 100,000 places; that many lines help nobody. */
const MAX_ERRORS = 50;
const MAX_PATH = 200;

/** Fastify's validator compiler for zod schemas: the parsed value, or a refusal that names the fields. */
export function compileValidator({ schema }: { readonly schema: unknown }) {
  if (!(schema instanceof z.ZodType)) throw new TypeError('The schemas of routes are zod schemas.');
  return (input: unknown) => {
    const result = schema.safeParse(input);
    return result.success ? { value: result.data } : { error: refusalOf(result.error.issues) };
  };
}

function refusalOf(issues: readonly z.core.$ZodIssue[]): AppError {
  const errors = issues.flatMap(fieldErrors).slice(0, MAX_ERRORS);
  const first = errors[0];
  const detail = first === undefined ? 'The request is not valid.' : `${first.path || 'The body'}: ${first.message}`;
  return new AppError('invalid_request', detail, { details: { errors } });
}

function fieldErrors(issue: z.core.$ZodIssue): readonly FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.slice(0, MAX_ERRORS);
    return keys.map((key) => ({ path: pathOf([...issue.path, key]), message: 'is not known here' }));
  }
  return [{ path: pathOf(issue.path), message: issue.message }];
}

function pathOf(keys: readonly PropertyKey[]): string {
  const path = keys.join('.');
  return path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…`;
}
