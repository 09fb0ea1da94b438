import type { Json, JsonObject } from './json.ts';
import type { RequestedCall } from './message.ts';

export const INTERRUPT_REASONS = ['tool_approval', 'idle', 'repeated_error', 'child'] as const;
export type InterruptReason = (typeof INTERRUPT_REASONS)[number];

/** What a person said of one tool call. */
export type Decision =
  | { readonly action: 'approve' }
  /** The call is not run; the model reads the reason. */
  | { readonly action: 'reject'; readonly reason?: string }
  /** The call runs with these arguments instead. */
  | { readonly action: 'edit'; readonly arguments: JsonObject }
  /** The call is not run; the model reads this as its result. */
  | { readonly action: 'respond'; readonly result: Json };

/** Why a turn waits for a person. */
export interface Interrupt {
  readonly id: string;
  readonly turnId: string;
  readonly reason: InterruptReason;
  /** Where in the loop it waits: before the tools run, or (a pause) before the next model call. */
  readonly beforeNodes: readonly ('tools' | 'model')[];
  /** The calls to decide; empty for a pause. */
  readonly toolCalls: readonly RequestedCall[];
  readonly createdAt: number;
  /** Null: never. */
  readonly expiresAt: number | null;
  /** What becomes of undecided calls then. */
  readonly onExpire: OnExpire;
}

export const ON_EXPIRE = ['reject', 'cancel', 'fail'] as const;
export type OnExpire = (typeof ON_EXPIRE)[number];
