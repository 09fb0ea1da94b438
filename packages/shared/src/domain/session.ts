import { AppError } from './errors.ts';
import type { OutboxEntry } from './event.ts';
import type { Interrupt } from './interrupt.ts';
import type { JsonObject } from './json.ts';

export const SESSION_STATES = ['IDLE', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** The right to run a session for a while. Kept after its release: the token must go on growing. */
export interface Lease {
  readonly token: number;
  /** Who has it; null when released. */
  readonly holder: string | null;
  readonly claimedAt: number;
  /** On the store's clock. From then on anybody may claim. */
  readonly expiresAt: number;
}

export interface Session {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly agentId: string;
  readonly state: SessionState;
  /** Turns accepted so far; also the number of the newest one. */
  readonly turnCount: number;
  /** The turn that runs, waits, or is next in line. */
  readonly activeTurnId: string | null;
  readonly interrupt: Interrupt | null;
  readonly metadata: JsonObject;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Highest `seq` given to a message. */
  readonly lastSeq: number;
  readonly lease: Lease;
  /** Highest event id that a commit has given; the log may be ahead of it by deltas. */
  readonly lastEventId: number;
  readonly outbox: readonly OutboxEntry[];
  /** When a worker is needed although nobody may have woken one; null: not. The sweeper reads nothing else. */
  readonly dueAt: number | null;
}

/**
 * The state machine. A trigger that has no entry for a state is refused.
 *
 * `accept`: a turn was accepted · `interrupt`: the active turn waits for a person · `resume`: the last decision was
 * made, or the waiting turn is to be ended · `next`: a turn ended and another is queued · `rest`: a turn ended, nothing
 * is queued · `complete`, `fail`, `cancel`: a task's turn ended.
 */
const SESSION_TRANSITIONS = {
  IDLE: { accept: 'RUNNING' },
  RUNNING: {
    accept: 'RUNNING',
    interrupt: 'WAITING',
    next: 'RUNNING',
    rest: 'IDLE',
    complete: 'COMPLETED',
    fail: 'FAILED',
    cancel: 'CANCELLED',
  },
  WAITING: { accept: 'WAITING', resume: 'RUNNING' },
  COMPLETED: {},
  FAILED: {},
  CANCELLED: {},
} as const satisfies Record<SessionState, Partial<Record<string, SessionState>>>;

export const SESSION_TRIGGERS = [
  'accept',
  'interrupt',
  'resume',
  'next',
  'rest',
  'complete',
  'fail',
  'cancel',
] as const;
export type SessionTrigger = (typeof SESSION_TRIGGERS)[number];

/** The state that a trigger leads to. Throws `session_terminal` or `transition_refused`. */
export function nextSessionState(state: SessionState, trigger: SessionTrigger): SessionState {
  const next = (SESSION_TRANSITIONS[state] as Partial<Record<SessionTrigger, SessionState>>)[trigger];
  if (next !== undefined) return next;
  if (isTerminalState(state)) {
    throw new AppError('session_terminal', `The session has ended (${state}); start a new one.`, {
      details: { state },
    });
  }
  throw new AppError('transition_refused', `A session that is ${state} does not take "${trigger}".`, {
    details: { state, trigger },
  });
}

export function isTerminalState(state: SessionState): boolean {
  return state === 'COMPLETED' || state === 'FAILED' || state === 'CANCELLED';
}

export interface NewSession {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly agentId: string;
  readonly metadata: JsonObject;
}

export function newSession(input: NewSession, now: number): Session {
  return {
    ...input,
    state: 'IDLE',
    turnCount: 0,
    activeTurnId: null,
    interrupt: null,
    createdAt: now,
    updatedAt: now,
    lastSeq: 0,
    lease: { token: 0, holder: null, claimedAt: 0, expiresAt: 0 },
    lastEventId: 0,
    outbox: [],
    dueAt: null,
  };
}
