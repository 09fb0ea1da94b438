import type { ChangeBuilder } from './aggregate.ts';
import type { CancelIntent, Turn } from './turn.ts';

/** Ends a turn that is queued behind another. Its event waits in the outbox for the next holder. */
export function cancelQueued(builder: ChangeBuilder, turn: Turn, reason: CancelIntent['reason'], now: number): void {
  builder.putTurn({ ...turn, status: 'CANCELLED', finishedAt: now, cancel: { reason, requestedAt: now } });
  builder.emit({ type: 'cancelled', turnId: turn.id, data: { reason }, ts: now });
}
