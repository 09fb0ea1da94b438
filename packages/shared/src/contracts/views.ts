import type { SessionEvent } from '../domain/event.ts';
import type { Interrupt } from '../domain/interrupt.ts';
import type { Message } from '../domain/message.ts';
import type { Session } from '../domain/session.ts';
import type { Turn } from '../domain/turn.ts';

/** Times leave the server as ISO 8601 in UTC; `ts` of events alone is in milliseconds since the epoch. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

function interruptView(interrupt: Interrupt) {
  const { id, turnId, reason, beforeNodes, toolCalls, createdAt, expiresAt } = interrupt;
  return {
    id,
    turnId,
    reason,
    beforeNodes,
    toolCalls,
    createdAt: isoTime(createdAt),
    expiresAt: isoTimeOrNull(expiresAt),
  };
}

/** A session as clients see it. */
export function sessionView(session: Session) {
  const { id, tenantId, userId, agentId, state, turnCount, activeTurnId, metadata } = session;
  return {
    id,
    tenantId,
    userId,
    agentId,
    state,
    turnCount,
    activeTurnId,
    interrupt: session.interrupt === null ? null : interruptView(session.interrupt),
    metadata,
    createdAt: isoTime(session.createdAt),
    updatedAt: isoTime(session.updatedAt),
  };
}

/** A turn as clients see it. */
export function turnView(turn: Turn) {
  const { id, sessionId, number, status, text, attempt, steps, usage, error } = turn;
  return {
    id,
    sessionId,
    number,
    status,
    text,
    attempt,
    steps,
    usage,
    error,
    createdAt: isoTime(turn.createdAt),
    startedAt: isoTimeOrNull(turn.startedAt),
    finishedAt: isoTimeOrNull(turn.finishedAt),
  };
}

/** A message as clients see it. */
export function messageView(message: Message) {
  return { ...message, createdAt: isoTime(message.createdAt) };
}

/** The `data` of an event's SSE frame: one line of JSON. */
export function eventData(event: SessionEvent): string {
  const { turnId, ts, prev } = event;
  if (event.type !== 'done') return JSON.stringify({ turnId, ts, prev, ...event.data });
  const { message, usage } = event.data;
  return JSON.stringify({ turnId, ts, prev, message: message === null ? null : messageView(message), usage });
}
