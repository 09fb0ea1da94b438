import { ChangeBuilder, type Decided, type HolderWrite, runningTurn, type SessionAggregate } from './aggregate.ts';
import { type HolderResult, holderResult } from './decide-lease.ts';
import type { Interrupt, InterruptReason, OnExpire } from './interrupt.ts';
import { nextSessionState } from './session.ts';

export interface SuspendTurn {
  readonly write: HolderWrite;
  readonly turnId: string;
  readonly interruptId: string;
  readonly reason: InterruptReason;
  readonly beforeNodes: Interrupt['beforeNodes'];
  /** The calls to decide; empty for a pause. */
  readonly callIds: readonly string[];
  /** Null: never expires. */
  readonly ttlMs: number | null;
  readonly onExpire: OnExpire;
}

/**
 * Lets the turn wait for a person. Where an intent to cancel is stored already, the turn stays as it is and the
 * result's `cancel` says so: the holder then ends the turn.
 */
export function decideSuspend(aggregate: SessionAggregate, command: SuspendTurn, now: number): Decided<HolderResult> {
  const builder = new ChangeBuilder(aggregate, now).asHolder(command.write);
  const turn = runningTurn(aggregate, command.turnId);
  // What this write adopted from the outbox is stored even so: the holder publishes it under the ids that it got.
  if (turn.cancel !== null) return builder.decided(holderResult(builder, turn));
  const interrupt = interruptOf(builder, command, now);
  for (const call of builder.toolCalls.filter(({ id }) => command.callIds.includes(id))) {
    builder.putToolCall({ ...call, state: 'waiting' });
  }
  const leasedMs = turn.leasedMs + (now - builder.session.lease.claimedAt);
  const waiting = { ...turn, status: 'WAITING' as const, leasedMs };
  builder.putTurn(waiting);
  builder.setSession({ state: nextSessionState(builder.session.state, 'interrupt'), interrupt });
  const { id: interruptId, reason, beforeNodes, toolCalls, expiresAt } = interrupt;
  const expires = expiresAt === null ? null : new Date(expiresAt).toISOString();
  const data = { interruptId, reason, beforeNodes, toolCalls, expiresAt: expires };
  builder.emit({ type: 'interrupt', turnId: turn.id, data, ts: now });
  return builder.decided(holderResult(builder, waiting));
}

function interruptOf(builder: ChangeBuilder, command: SuspendTurn, now: number): Interrupt {
  const calls = builder.toolCalls.filter(({ id }) => command.callIds.includes(id));
  return {
    id: command.interruptId,
    turnId: command.turnId,
    reason: command.reason,
    beforeNodes: command.beforeNodes,
    toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    createdAt: now,
    expiresAt: command.ttlMs === null ? null : now + command.ttlMs,
    onExpire: command.onExpire,
  };
}
