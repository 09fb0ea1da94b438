import type { JsonObject } from './json.ts';

export type MessageRole = 'user' | 'assistant' | 'tool';

/** A call as the model asked for it. Arguments that could not be parsed are stored as `{}`. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/**
 * - `partial`: text of a turn that was cancelled or failed in mid-answer
 * - `truncated`: the model stopped at its output limit
 * - `error`: a tool result that is no success (failed, rejected, cancelled, unknown)
 */
export type MessageStatus = 'partial' | 'truncated' | 'error';

/** One entry of a session's history. `(sessionId, seq)` is unique; `seq` grows from 1 and may have holes. */
export interface Message {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly seq: number;
  readonly role: MessageRole;
  readonly content: string;
  /** Of assistant messages. */
  readonly toolCalls?: readonly RequestedCall[];
  /** Of tool messages. */
  readonly toolCallId?: string;
  readonly status?: MessageStatus;
  /** Milliseconds since the epoch, as are all times in the domain. */
  readonly createdAt: number;
}

/** A message before the session gave it its place. */
export type NewMessage = Omit<Message, 'sessionId' | 'turnId' | 'seq' | 'createdAt'>;
