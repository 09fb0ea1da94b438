import type { ModelSettings } from '../domain/agent.ts';
import type { JsonObject } from '../domain/json.ts';
import type { RequestedCall } from '../domain/message.ts';
import type { Usage } from '../domain/usage.ts';

/** A conversation as models take it: one leading system message, each tool call answered right after its message. */
export type ModelMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls: readonly RequestedCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments (an object). */
  readonly parameters: JsonObject;
}

export interface ModelRequest {
  readonly settings: ModelSettings;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  /** Asks for an answer that follows a JSON Schema. */
  readonly responseFormat: { readonly name: string; readonly schema: JsonObject } | null;
}

/**
 * A piece of the model's stream.
 *
 * `tool_call`: a fragment; `index` is as the provider sent it (null if it sent none), `arguments` is a piece of JSON
 * text. The reader assembles. · `end`: the provider gave a finish reason. · `error`: the last chunk of a stream that
 * broke, was refused, or ended without a finish reason; no exception is thrown for those.
 */
export type ModelChunk =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly index: number | null;
      readonly id: string | null;
      readonly name: string | null;
      readonly arguments: string;
    }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'error'; readonly error: ModelFailure }
  | { readonly type: 'end'; readonly finishReason: string };

export interface ModelFailure {
  readonly code: 'model_error' | 'model_auth' | 'model_overloaded' | 'context_overflow';
  /** One sentence without secrets. */
  readonly message: string;
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  /** How long the provider asked to wait, in ms; null if it did not say. */
  readonly retryAfterMs: number | null;
}

export interface LanguageModel {
  /** Ends with one `end` or `error` chunk, or early, without either, when the signal aborts: then the socket is closed. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelChunk>;
}
