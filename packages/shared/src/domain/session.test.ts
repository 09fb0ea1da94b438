import { describe, expect, test } from 'vitest';
import { isAppError } from './errors.ts';
import {
  isTerminalState,
  nextSessionState,
  SESSION_STATES,
  SESSION_TRIGGERS,
  type SessionState,
  type SessionTrigger,
} from './session.ts';

/** Every state with every trigger; what is not listed is refused. Written out here a second time, on purpose. */
const ALLOWED: Partial<Record<`${SessionState} ${SessionTrigger}`, SessionState>> = {
  'IDLE accept': 'RUNNING',
  'RUNNING accept': 'RUNNING',
  'RUNNING interrupt': 'WAITING',
  'RUNNING next': 'RUNNING',
  'RUNNING rest': 'IDLE',
  'RUNNING complete': 'COMPLETED',
  'RUNNING fail': 'FAILED',
  'RUNNING cancel': 'CANCELLED',
  'WAITING accept': 'WAITING',
  'WAITING resume': 'RUNNING',
};

const cases = SESSION_STATES.flatMap((state) =>
  SESSION_TRIGGERS.map((trigger) => ({ state, trigger, next: ALLOWED[`${state} ${trigger}`] })),
);

describe('the session state machine', () => {
  test('is looked at as a whole', () => {
    expect(cases).toHaveLength(6 * 8);
    expect(cases.filter(({ next }) => next !== undefined)).toHaveLength(10);
  });

  test.each(cases.filter(({ next }) => next !== undefined))('$state takes $trigger', ({ state, trigger, next }) => {
    expect(nextSessionState(state, trigger)).toBe(next);
  });

  test.each(cases.filter(({ next }) => next === undefined))('$state refuses $trigger', ({ state, trigger }) => {
    const refusal = catchError(() => nextSessionState(state, trigger));
    const code = isTerminalState(state) ? 'session_terminal' : 'transition_refused';
    expect(isAppError(refusal, code), String(refusal)).toBe(true);
  });

  test.each(SESSION_STATES)('%s is terminal if it takes nothing', (state) => {
    const takesNothing = cases.every((one) => one.state !== state || one.next === undefined);
    expect(isTerminalState(state)).toBe(takesNothing);
  });
});

function catchError(fn: () => unknown): unknown {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return new Error('nothing was thrown');
}
