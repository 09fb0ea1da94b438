import type { Decision } from './interrupt.ts';
import type { JsonObject } from './json.ts';

/**
 * - `planned`: the assistant message that asks for it is stored; nothing ran
 * - `waiting`: a person has to decide
 * - `started`: the tool was called; without a result after a crash its outcome is unknown
 * - `done`, `failed`, `unknown`, `rejected`: settled, with a result message in the history
 */
export const TOOL_CALL_STATES = ['planned', 'waiting', 'started', 'done', 'failed', 'unknown', 'rejected'] as const;
export type ToolCallState = (typeof TOOL_CALL_STATES)[number];

/** One record of the ledger. */
export interface ToolCall {
  readonly id: string;
  readonly turnId: string;
  readonly step: number;
  /** Place among the calls of its step, from 0. */
  readonly position: number;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Why the model's arguments cannot be used, or null. Such a call is never run; the reason is its result. */
  readonly invalid: string | null;
  readonly state: ToolCallState;
  readonly decision: Decision | null;
  /** What the model is told; null until settled. */
  readonly result: string | null;
  /** Same after a crash, so that an idempotent tool can tell a repetition. */
  readonly idempotencyKey: string;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

export type SettledState = Extract<ToolCallState, 'done' | 'failed' | 'unknown' | 'rejected'>;

export function isSettled(call: ToolCall): boolean {
  return call.state === 'done' || call.state === 'failed' || call.state === 'unknown' || call.state === 'rejected';
}

export function idempotencyKeyOf(turnId: string, step: number, position: number): string {
  return `${turnId}-${step}-${position}`;
}
