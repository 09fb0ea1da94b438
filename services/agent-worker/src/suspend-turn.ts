import type { Agent } from '@turnwire/shared/domain/agent';
import { finishTurn } from './finish-turn.ts';
import type { Interruption } from './react/engine.ts';
import type { TurnRunner } from './run-turn.ts';
import { turnContext } from './turn-context.ts';
import type { OwnedTurnState } from './turn-state.ts';

/** Lets the turn wait for a person. If a cancel was stored in the meantime, it ends instead. */
export async function suspendTurn(
  runner: TurnRunner,
  state: OwnedTurnState,
  agent: Agent,
  { reason, callIds }: Interruption,
): Promise<void> {
  const { store, ids, metrics } = runner.worker;
  const { tenantId, sessionId, log } = turnContext();
  const { ttlSeconds, onExpire } = agent.approval;
  // Made once: the write may be tried again.
  const interruptId = ids.next('int');
  const result = await state.write((write) =>
    store.turns.suspend(
      { tenantId, sessionId },
      {
        write,
        turnId: state.turn.id,
        interruptId,
        reason,
        beforeNodes: ['tools'],
        callIds,
        ttlMs: ttlSeconds * 1000,
        onExpire,
      },
    ),
  );
  if (result.cancel !== null) return finishTurn(runner, state, { agent, outcome: { status: 'CANCELLED' } });
  metrics.turnEnded('WAITING');
  log.info({ reason, calls: callIds.length }, 'The turn waits for a person.');
}
