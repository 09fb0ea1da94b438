import type { JsonObject } from '../domain/json.ts';
import type { ToolDefinition } from './language-model.ts';

/** For whom and for what a tool runs. */
export interface ToolCallContext {
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolCallId: string;
  /** The same if the call is run again after a crash. */
  readonly idempotencyKey: string;
  /** W3C Trace Context of the call that the turn follows from, for tools that call others. */
  readonly traceparent?: string;
  /** Aborts on cancel, time-out and loss of the lease. A tool must stop its work then. */
  readonly signal: AbortSignal;
}

/**
 * Something a model can call. Stateless between calls and shared over sessions: whom it runs for comes with the call.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Whether a call whose outcome is unknown after a crash may be run again with the same key. */
  readonly idempotent: boolean;
  /** In ms; null: the agent's `toolTimeoutMs`. */
  readonly timeoutMs: number | null;
  /**
   * Runs with arguments that follow `definition.parameters`. Answers the text that the model reads. Throws an error
   * whose message is one short sentence for the model to repair its call with.
   */
  run(args: JsonObject, context: ToolCallContext): Promise<string>;
}

/** Where an agent's tools come from; asked before each step, since tools may come and go. */
export interface Toolbox {
  /** Tools that the patterns cover, by name. What cannot be reached now is absent and logged. */
  tools(tenantId: string, patterns: readonly string[]): Promise<readonly Tool[]>;
  close(): Promise<void>;
}
