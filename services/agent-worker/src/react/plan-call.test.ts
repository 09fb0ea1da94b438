import type { Decision } from '@turnwire/shared/domain/interrupt';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import { createScriptedTool } from '@turnwire/shared/testing/scripted-tool';
import { describe, expect, test } from 'vitest';
import { createArgumentValidator } from '../tools/argument-validator.ts';
import { planCall } from './plan-call.ts';

const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
const once = createScriptedTool('once', () => '', { parameters });
const safe = createScriptedTool('safe', () => '', { parameters, idempotent: true });
const tools = new Map([once, safe].map((tool) => [tool.definition.name, tool]));
const validate = createArgumentValidator();

function call(patch: Partial<ToolCall>): ToolCall {
  return {
    id: 'call_1',
    turnId: 'turn_1',
    step: 1,
    position: 0,
    name: 'once',
    arguments: { to: 'bob' },
    invalid: null,
    state: 'planned',
    decision: null,
    result: null,
    idempotencyKey: 'turn_1-1-0',
    startedAt: null,
    finishedAt: null,
    ...patch,
  };
}

function plan(patch: Partial<ToolCall>): string {
  const planned = planCall(call(patch), tools, validate);
  return planned.kind === 'run' ? `run ${JSON.stringify(planned.arguments)}` : `${planned.state}: ${planned.content}`;
}

const UNKNOWN = /^unknown: .*Whether it took effect is unknown/;

describe('an open call', () => {
  const edit: Decision = { action: 'edit', arguments: { to: 'eve' } };
  const badEdit: Decision = { action: 'edit', arguments: { to: 3 } };
  const reject: Decision = { action: 'reject', reason: 'no' };
  const respond: Decision = { action: 'respond', result: 'as I say' };

  test.each<[ToolCall['state'], string, Decision | null, string | RegExp]>([
    ['planned', 'once', null, 'run {"to":"bob"}'],
    ['planned', 'once', { action: 'approve' }, 'run {"to":"bob"}'],
    ['planned', 'once', edit, 'run {"to":"eve"}'],
    ['planned', 'once', badEdit, /^failed: .*arguments\.to must be string/],
    ['planned', 'once', reject, 'rejected: A person rejected this call: no'],
    ['planned', 'once', { action: 'reject', reason: '' }, 'rejected: A person rejected this call.'],
    ['planned', 'once', respond, 'done: as I say'],
    ['planned', 'once', { action: 'respond', result: null }, 'done: null'],
    ['planned', 'gone', null, 'failed: There is no tool "gone". There are: once, safe.'],
    ['planned', 'gone', reject, 'rejected: A person rejected this call: no'],
    ['planned', 'gone', respond, 'done: as I say'],
    ['started', 'once', null, UNKNOWN],
    ['started', 'once', { action: 'approve' }, UNKNOWN],
    ['started', 'once', edit, UNKNOWN],
    ['started', 'safe', null, 'run {"to":"bob"}'],
    ['started', 'safe', { action: 'approve' }, 'run {"to":"bob"}'],
    ['started', 'safe', edit, 'run {"to":"eve"}'],
    ['started', 'gone', null, UNKNOWN],
  ])('%s of %s, decided as %j', (state, name, decision, expected) => {
    const planned = plan({ state, name, decision });
    if (typeof expected === 'string') expect(planned).toBe(expected);
    else expect(planned).toMatch(expected);
  });

  test('whose arguments could not be read is told so, and never runs', () => {
    expect(plan({ invalid: 'No JSON.' })).toBe('failed: No JSON.');
  });

  test('with arguments that do not follow the schema is told where', () => {
    expect(plan({ arguments: {} })).toMatch(/^failed: .*arguments\.to is required/);
  });

  test('of a tool that is not there says so where there is none at all', () => {
    const planned = planCall(call({ name: 'gone' }), new Map(), validate);
    expect(planned).toMatchObject({ content: 'There is no tool "gone", and no other one either.' });
  });
});
