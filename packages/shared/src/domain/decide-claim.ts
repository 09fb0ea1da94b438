import {
  ChangeBuilder,
  type Decided,
  firstEventId,
  markStep,
  type SessionAggregate,
  type SessionChange,
} from './aggregate.ts';
import type { OutboxEntry } from './event.ts';
import type { Decision } from './interrupt.ts';
import { type Lease, nextSessionState, type Session } from './session.ts';
import type { ToolCall } from './tool-call.ts';
import { MAX_ATTEMPTS, type Turn, type TurnError } from './turn.ts';

export interface ClaimCommand {
  /** Name of the claiming worker, for people to read. */
  readonly holder: string;
  readonly leaseMs: number;
}

/** How the turn has to end without running; null: run it. */
export type ForcedEnd = { readonly status: 'CANCELLED' } | { readonly status: 'FAILED'; readonly error: TurnError };

export interface Claim {
  readonly session: Session;
  readonly lease: Lease;
  /** Null: nothing to run, only the outbox to publish. */
  readonly turn: Turn | null;
  readonly forcedEnd: ForcedEnd | null;
  readonly toolCalls: readonly ToolCall[];
  /** To publish before any other event. Those with an id of an older token may be in the log already. */
  readonly outbox: readonly OutboxEntry[];
}

type Work =
  | { readonly kind: 'start' | 'resume' | 'take_back' | 'recover'; readonly head: Turn }
  | { readonly kind: 'end'; readonly head: Turn; readonly end: ForcedEnd }
  | { readonly kind: 'expire'; readonly head: Turn }
  | { readonly kind: 'publish' };

/** Takes the lease if it is free and there is something to do. Null: held by another, or nothing to do. */
export function decideClaim(aggregate: SessionAggregate, command: ClaimCommand, now: number): Decided<Claim | null> {
  const previous = aggregate.session.lease;
  if (previous.holder !== null && previous.expiresAt > now) return { result: null, change: null };
  const work = workOf(aggregate, now);
  if (work === null) return { result: null, change: previous.holder === null ? null : forgetHolder(aggregate, now) };
  const builder = new ChangeBuilder(aggregate, now);
  const token = previous.token + 1;
  const lease: Lease = { token, holder: command.holder, claimedAt: now, expiresAt: now + command.leaseMs };
  builder.setSession({ lease });
  builder.numberEvents(firstEventId(token), 0);
  const forcedEnd = work.kind === 'publish' ? null : begin(builder, work, lostMs(previous), now);
  const change = builder.build();
  const turn = work.kind === 'publish' ? null : (builder.openTurns[0] ?? null);
  const { toolCalls, numbered } = builder;
  return { result: { session: change.session, lease, turn, forcedEnd, toolCalls, outbox: numbered }, change };
}

/** The holder died after its last write but before its release: else the session would be due for ever. */
function forgetHolder(aggregate: SessionAggregate, now: number): SessionChange {
  const builder = new ChangeBuilder(aggregate, now);
  builder.setSession({ lease: { ...aggregate.session.lease, holder: null, expiresAt: 0 } });
  return builder.build();
}

function workOf({ session, turns }: SessionAggregate, now: number): Work | null {
  const head = turns[0];
  const publish: Work | null = session.outbox.length > 0 ? { kind: 'publish' } : null;
  if (head === undefined) return publish;
  if (head.cancel !== null) return { kind: 'end', head, end: { status: 'CANCELLED' } };
  if (head.error !== null) return { kind: 'end', head, end: { status: 'FAILED', error: head.error } };
  if (head.status === 'WAITING') {
    const expiresAt = session.interrupt?.expiresAt ?? null;
    return expiresAt !== null && expiresAt <= now ? { kind: 'expire', head } : publish;
  }
  if (head.status === 'QUEUED') {
    const kinds = { new: 'start', resumed: 'resume', released: 'take_back' } as const;
    return { kind: kinds[head.queuedAs], head };
  }
  if (head.attempt >= MAX_ATTEMPTS) {
    const message = `The turn was lost with its worker ${MAX_ATTEMPTS} times and is not tried again.`;
    return { kind: 'end', head, end: { status: 'FAILED', error: { code: 'attempts_exhausted', message } } };
  }
  return { kind: 'recover', head };
}

/** Leased time of a holder that never came back. */
function lostMs(previous: Lease): number {
  return previous.holder === null ? 0 : previous.expiresAt - previous.claimedAt;
}

function begin(
  builder: ChangeBuilder,
  work: Exclude<Work, { kind: 'publish' }>,
  lost: number,
  now: number,
): ForcedEnd | null {
  const { head } = work;
  const running: Turn = {
    ...head,
    status: 'RUNNING',
    leasedMs: head.leasedMs + (head.status === 'RUNNING' ? lost : 0),
  };
  const started = { ...running, attempt: head.attempt + 1, startedAt: head.startedAt ?? now };
  const turnId = head.id;
  switch (work.kind) {
    case 'start':
      builder.putTurn(started);
      builder.emit({ type: 'turn.started', turnId, data: { attempt: started.attempt }, ts: now });
      break;
    case 'resume':
      resume(builder, running, now);
      break;
    case 'take_back':
      builder.putTurn(running);
      emitReset(builder, head, now);
      break;
    case 'recover':
      builder.putTurn(started);
      // First of all: what clients have of the lost attempt is taken back.
      emitReset(builder, head, now);
      builder.emit({ type: 'turn.started', turnId, data: { attempt: started.attempt }, ts: now });
      break;
    case 'end':
      builder.putTurn(running);
      return work.end;
    case 'expire': {
      const end = expire(builder, running, now);
      if (end !== null) return end;
    }
  }
  markStep(builder, turnId);
  return null;
}

function emitReset(builder: ChangeBuilder, turn: Turn, now: number): void {
  builder.emit({ type: 'turn.reset', turnId: turn.id, data: { step: turn.steps + 1 }, ts: now });
}

function resume(builder: ChangeBuilder, turn: Turn, now: number): void {
  const decisions: Record<string, Decision> = {};
  for (const call of builder.toolCalls) {
    if (call.step === turn.steps && call.decision !== null) decisions[call.id] = call.decision;
  }
  builder.putTurn(turn);
  builder.emit({ type: 'turn.resumed', turnId: turn.id, data: { decisions }, ts: now });
}

function expire(builder: ChangeBuilder, turn: Turn, now: number): ForcedEnd | null {
  const policy = builder.session.interrupt?.onExpire ?? 'reject';
  builder.setSession({ interrupt: null, state: nextSessionState(builder.session.state, 'resume') });
  switch (policy) {
    case 'reject':
      for (const call of builder.toolCalls.filter(({ state }) => state === 'waiting')) {
        const decision = call.decision ?? { action: 'reject', reason: 'Nobody decided before the approval expired.' };
        builder.putToolCall({ ...call, state: 'planned', decision });
      }
      resume(builder, turn, now);
      return null;
    case 'cancel':
      builder.putTurn({ ...turn, cancel: { reason: 'approval_expired', requestedAt: now } });
      return { status: 'CANCELLED' };
    case 'fail': {
      const error: TurnError = { code: 'interrupt_expired', message: 'Nobody decided before the approval expired.' };
      builder.putTurn({ ...turn, error });
      return { status: 'FAILED', error };
    }
  }
}
