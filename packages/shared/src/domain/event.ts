import type { Decision, InterruptReason } from './interrupt.ts';
import type { JsonObject } from './json.ts';
import type { Message, RequestedCall } from './message.ts';
import type { Usage } from './usage.ts';

/** What each durable event says, beside `turnId`, `ts` and `prev`, which all carry. */
export interface EventData {
  'turn.started': { readonly attempt: number };
  'step.started': { readonly step: number };
  'turn.delta': { readonly step: number; readonly text: string };
  'reasoning.delta': { readonly step: number; readonly text: string };
  'tool.call': {
    readonly step: number;
    readonly toolCallId: string;
    readonly name: string;
    readonly arguments: JsonObject;
  };
  'tool.result': {
    readonly toolCallId: string;
    readonly name: string;
    readonly ok: boolean;
    readonly result: string;
    readonly durationMs: number;
    readonly truncated?: true;
  };
  interrupt: {
    readonly interruptId: string;
    readonly reason: InterruptReason;
    readonly beforeNodes: readonly string[];
    readonly toolCalls: readonly RequestedCall[];
    readonly expiresAt: string | null;
  };
  'turn.resumed': { readonly decisions: Readonly<Record<string, Decision>> };
  /** An attempt was lost; drop the text that came for this step. */
  'turn.reset': { readonly step: number };
  done: { readonly message: Message | null; readonly usage: Usage };
  error: { readonly code: string; readonly message: string };
  cancelled: { readonly reason: string };
}

export type EventType = keyof EventData;

/** An event before it has its place on the session's stream. */
export type EventDraft = {
  [T in EventType]: { readonly type: T; readonly turnId: string; readonly data: EventData[T]; readonly ts: number };
}[EventType];

/** An event with its place. `id` is `token × 2^32 + n`, see {@link eventId}. */
export type NumberedEvent = EventDraft & { readonly id: number };

/** An event as the log has it: `prev` is the id that was logged before it on this session, 0 if none. */
export type SessionEvent = NumberedEvent & { readonly prev: number };

/** Said by a gateway itself: no id, not stored, not replayed. */
export type Announcement =
  | {
      readonly type: 'turn.queued';
      readonly turnId: string;
      readonly data: { readonly position: number };
      readonly ts: number;
    }
  /** The session was deleted with this turn in it, or with none that had not ended: its streams end. */
  | {
      readonly type: 'cancelled';
      readonly turnId: string | null;
      readonly data: { readonly reason: 'session_deleted' };
      readonly ts: number;
    };

/** Stored by the commit that made it true, until the log has it. Without an id: the next holder gives it one. */
export interface OutboxEntry {
  readonly id: number | null;
  readonly event: EventDraft;
}

const COUNTER_SPAN = 2 ** 32;

/**
 * The id of the n-th event (from 1) of the lease with this token. Grows over a crash even where the dead holder had
 * shown more than the log kept, and within one token the counter is contiguous, so that a hole can be seen.
 */
export function eventId(token: number, n: number): number {
  return token * COUNTER_SPAN + n;
}

export function tokenOf(id: number): number {
  return Math.floor(id / COUNTER_SPAN);
}

const TERMINAL_EVENT_TYPES = ['done', 'error', 'cancelled'] as const;

export function isTerminalEvent(type: string): boolean {
  return (TERMINAL_EVENT_TYPES as readonly string[]).includes(type);
}
