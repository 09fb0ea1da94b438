import type { FailureCode } from './errors.ts';
import type { Usage } from './usage.ts';

export const TURN_STATUSES = ['QUEUED', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

export const ON_BUSY = ['enqueue', 'reject', 'interrupt', 'rollback'] as const;
/** What a new turn does on a session that is running or waiting. */
export type OnBusy = (typeof ON_BUSY)[number];

export interface TurnError {
  readonly code: FailureCode;
  readonly message: string;
}

/** A stored intent to cancel. It decides, whatever signal reached the holder or not. */
export interface CancelIntent {
  readonly reason: 'requested' | 'interrupted' | 'rolled_back' | 'session_ended' | 'approval_expired';
  readonly requestedAt: number;
}

/** What a turn needs to go on elsewhere, beside its messages and its ledger. A released format stays readable. */
export interface Checkpoint {
  readonly version: 1;
  /** The agent's prompt, expanded, with the recalled memories: frozen for the turn. */
  readonly systemPrompt: string;
  readonly memoryIds: readonly string[];
  /** Said to the model in this turn only; no part of the session's history. */
  readonly reminders: readonly string[];
}

export interface Turn {
  readonly id: string;
  readonly tenantId: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly agentId: string;
  /** Order of acceptance within the session, from 1; never reused. */
  readonly number: number;
  readonly status: TurnStatus;
  readonly text: string;
  /** 0 before the first claim. */
  readonly attempt: number;
  /** Steps begun, over all attempts and resumes. */
  readonly steps: number;
  readonly usage: Usage;
  /** Why it failed; on a turn that still runs: why its next holder has to end it. */
  readonly error: TurnError | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** How a `QUEUED` turn came there: only a released one needs a `turn.reset`. */
  readonly queuedAs: 'new' | 'resumed' | 'released';
  readonly cancel: CancelIntent | null;
  /** Fixed at the first claim. */
  readonly agentRevision: number | null;
  readonly checkpoint: Checkpoint | null;
  /** Events of the step in progress have greater ids: where to look for its text after a crash. */
  readonly eventsFrom: number;
  /** Time spent under a lease in earlier claims. */
  readonly leasedMs: number;
  /** The memory extraction that a completed turn owes. */
  readonly extraction: 'none' | 'pending' | 'done' | 'failed';
}

export function isTerminalStatus(status: TurnStatus): status is 'COMPLETED' | 'FAILED' | 'CANCELLED' {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/** How often a turn may be taken over after its holder was lost; the next claim ends it. */
export const MAX_ATTEMPTS = 5;
