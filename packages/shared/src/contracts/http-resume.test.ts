import { describe, expect, test } from 'vitest';
import { resumeSchema, settleCommand } from './http-resume.ts';

const command = (body: unknown) => settleCommand(resumeSchema.parse(body));
const paths = (body: unknown) => resumeSchema.safeParse(body).error?.issues.map(({ path }) => path.join('.'));

describe('a resume', () => {
  test.each([undefined, null, {}, { interruptId: 'int_1' }])('that says nothing approves: %j', (body) => {
    expect(command(body)).toMatchObject({ decisions: {}, others: { action: 'approve' }, text: null });
  });

  test('maps each decision to what the domain knows', () => {
    const decisions = {
      a: { action: 'approve', reason: 'fine' },
      b: { action: 'reject', reason: 'too dear' },
      c: { action: 'reject', reason: '' },
      d: { action: 'edit', arguments: { to: 'x' } },
      e: { action: 'respond', result: null },
    };
    expect(command({ interruptId: 'int_1', decisions })).toEqual({
      interruptId: 'int_1',
      decisions: {
        a: { action: 'approve' },
        b: { action: 'reject', reason: 'too dear' },
        c: { action: 'reject' },
        d: { action: 'edit', arguments: { to: 'x' } },
        e: { action: 'respond', result: null },
      },
      others: null,
      text: null,
    });
  });

  test('with an action decides all that decisions does not name', () => {
    expect(command({ action: 'reject', reason: 'no' }).others).toEqual({ action: 'reject', reason: 'no' });
    const mixed = command({ action: 'approve', decisions: { a: { action: 'reject' } } });
    expect(mixed).toMatchObject({ decisions: { a: { action: 'reject' } }, others: { action: 'approve' } });
  });

  test('with empty decisions decides nothing', () => {
    expect(command({ decisions: {} }).others).toBeNull();
  });

  test('with text resumes a pause', () => {
    expect(command({ text: 'Go on.' })).toEqual({ interruptId: null, decisions: {}, others: null, text: 'Go on.' });
  });

  test.each([
    [{ action: 'edit' }, 'action'],
    [{ action: 'respond', decisions: {} }, 'action'],
    [{ action: 'maybe' }, 'action'],
    [{ reason: 'too dear' }, 'reason'],
    [{ reason: 'too dear', decisions: {} }, 'reason'],
    [{ text: 'x', action: 'approve' }, 'text'],
    [{ text: 'x', decisions: {} }, 'text'],
    [{ decisions: { a: { action: 'edit' } } }, 'decisions.a.arguments'],
    [{ decisions: { a: { action: 'edit', arguments: [] } } }, 'decisions.a.arguments'],
    [{ decisions: { a: { action: 'respond' } } }, 'decisions.a.result'],
    [{ decisions: { a: { action: 'approve', arguments: {} } } }, 'decisions.a'],
    [{ decisions: { a: 'approve' } }, 'decisions.a'],
    [{ decision: {} }, ''],
    [[], ''],
  ])('that is wrong names the field: %j', (body, path) => {
    expect(paths(body)).toContain(path);
  });
});
