import type { Agent } from '../domain/agent.ts';
import type { AppError } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Session } from '../domain/session.ts';
import type { Turn } from '../domain/turn.ts';
import type { Usage } from '../domain/usage.ts';
import type { ModelRequest } from './language-model.ts';

export interface HookContext {
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly signal: AbortSignal;
}

/**
 * An operator's own code around a turn. Each may be absent and may be asynchronous; a hook that has not answered after
 * 10 s counts as failed. What a hook throws ends the turn with `internal`, with two exceptions: `beforeSession` refuses
 * the turn (`refused_by_hook`, the message is shown), and errors of `afterSession` and `onError` are only logged.
 */
export type Hooks = Partial<{
  /** Before anything of a turn is done, at its every claim. Throw to refuse. */
  beforeSession(context: HookContext, input: { readonly turn: Turn; readonly session: Session }): Promise<void> | void;
  /** After the terminal event is stored. */
  afterSession(context: HookContext, input: { readonly turn: Turn }): Promise<void> | void;
  /** May answer a changed request. */
  beforeModel(
    context: HookContext,
    input: { readonly agent: Agent; readonly step: number; readonly request: ModelRequest },
  ): Promise<ModelRequest | undefined> | ModelRequest | undefined;
  afterModel(
    context: HookContext,
    input: {
      readonly step: number;
      readonly text: string;
      readonly toolNames: readonly string[];
      readonly usage: Usage;
    },
  ): Promise<void> | void;
  /** May answer changed arguments; what it throws becomes the call's error result. */
  beforeToolUse(
    context: HookContext,
    input: { readonly toolCallId: string; readonly name: string; readonly arguments: JsonObject },
  ): Promise<JsonObject | undefined> | JsonObject | undefined;
  /** May answer a changed result; what it throws becomes the call's error result. */
  afterToolUse(
    context: HookContext,
    input: { readonly toolCallId: string; readonly name: string; readonly ok: boolean; readonly result: string },
  ): Promise<string | undefined> | string | undefined;
  /** A turn that failed, or an extraction that was given up. */
  onError(
    context: HookContext,
    input: { readonly where: 'turn' | 'extraction'; readonly error: AppError },
  ): Promise<void> | void;
}>;
