import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, FAILURE_CODES, REFUSAL_CODES, unavailable } from '@turnwire/shared/domain/errors';
import { describe, expect, test } from 'vitest';
import { PROBLEM_CODES, PROBLEM_KINDS, ProtocolError, problemOf } from './problem.ts';

describe('the codes', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/problems.md'), 'utf8');

  test.each(PROBLEM_CODES)('%s has a status and is explained in docs/problems.md', (code) => {
    const { status, title } = PROBLEM_KINDS[code];
    expect(status).toBeGreaterThanOrEqual(400);
    expect(title).not.toBe('');
    expect(page).toMatch(new RegExp(`^\\| \`${code}\` \\| ${status} \\| .{10,} \\|$`, 'm'));
  });

  test.each([...FAILURE_CODES, 'interrupt_expired'])(
    'of a failed turn: %s is explained in docs/problems.md',
    (code) => {
      const failed = page.slice(page.indexOf('## Turns that failed'));
      expect(failed).toMatch(new RegExp(`^\\| \`${code}\` \\| .{20,} \\|$`, 'm'));
    },
  );

  test('are those of the domain, and one for our own mistakes', () => {
    expect(Object.keys(PROBLEM_KINDS).sort()).toEqual([...REFUSAL_CODES, 'internal'].sort());
  });
});

describe('a problem', () => {
  test('has the facts of its error, and none that would hide its own members', () => {
    const error = new AppError('session_busy', 'Busy.', { details: { state: 'RUNNING', status: 200, code: 'x' } });
    expect(problemOf(error, '/v1/x')).toEqual({
      type: 'urn:turnwire:problem:session_busy',
      title: 'The session is busy',
      status: 409,
      detail: 'Busy.',
      instance: '/v1/x',
      code: 'session_busy',
      state: 'RUNNING',
    });
  });

  test.each([
    ['a bug', new TypeError('x is undefined')],
    ['no error at all', 'secret'],
    ['a signal between store and holder', new AppError('lease_lost', 'secret', { details: { secret: 1 } })],
    ['a failure of a turn', new AppError('model_error', 'secret')],
    ['a mistake of the server by its status', Object.assign(new Error('secret'), { statusCode: 500 })],
  ])('of %s is internal and says nothing', (_name, error) => {
    const problem = problemOf(error, '/');
    expect(problem).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(problem)).not.toMatch(/secret|undefined/);
  });

  test('names the field that a store refuses where all such fields are named', () => {
    const error = new AppError('invalid_request', 'No such cursor.', { details: { path: 'cursor' } });
    const problem = problemOf(error, '/');
    expect(problem).toMatchObject({ errors: [{ path: 'cursor', message: 'No such cursor.' }] });
    expect(problem).not.toHaveProperty('path');
  });

  test('of the protocol keeps its status', () => {
    expect(problemOf(new ProtocolError(400, 'Bad header.'), '/')).toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
    const tooLarge = Object.assign(new Error('Request body is too large'), { statusCode: 413 });
    expect(problemOf(tooLarge, '/')).toMatchObject({ status: 413, code: 'payload_too_large' });
    expect(problemOf(unavailable('The store', new Error()), '/')).toMatchObject({ status: 503, code: 'unavailable' });
  });
});
