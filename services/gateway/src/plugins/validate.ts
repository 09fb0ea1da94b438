import { AppError } from '@turnwire/shared/domain/errors';
import { z } from 'zod';

interface FieldError {
  readonly path: string;
  readonly message: string;
}

/** Fastify's validator compiler for zod schemas: the parsed value, or a refusal that names the fields. */
export function compileValidator({ schema }: { readonly schema: unknown }) {
  if (!(schema instanceof z.ZodType)) throw new TypeError('The schemas of routes are zod schemas.');
  return (input: unknown) => {
    const result = schema.safeParse(input);
    return result.success ? { value: result.data } : { error: refusalOf(result.error.issues) };
  };
}

function refusalOf(issues: readonly z.core.$ZodIssue[]): AppError {
  const errors = issues.flatMap(fieldErrors);
  const first = errors[0];
  const detail = first === undefined ? 'The request is not valid.' : `${first.path || 'The body'}: ${first.message}`;
  return new AppError('invalid_request', detail, { details: { errors } });
}

function fieldErrors(issue: z.core.$ZodIssue): readonly FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...issue.path, key].join('.'), message: 'is not known here' }));
  }
  return [{ path: issue.path.join('.'), message: issue.message }];
}
