import type { AppError } from '@turnwire/shared/domain/errors';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { Store } from '@turnwire/shared/ports/store';
import { withinLimit } from '@turnwire/shared/recall/time-limit';

const HOOK_LIMIT_MS = 10_000;

export interface GiveUpDeps {
  readonly store: Pick<Store, 'extractions'>;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'extractionEnded'>;
}

/** Marks an extraction as failed for good and tells the operator; the turn itself is not touched. */
export async function giveUp(deps: GiveUpDeps, turn: Turn, error: AppError, signal: AbortSignal): Promise<void> {
  const { tenantId, userId, sessionId, id: turnId } = turn;
  if (!(await deps.store.extractions.giveUp(turn))) return; // settled meanwhile, by another worker or a deletion
  deps.metrics.extractionEnded('failed');
  deps.log.error({ tenantId, userId, sessionId, turnId, err: error }, 'A memory extraction was given up.');
  try {
    await withinLimit(deps.clock, HOOK_LIMIT_MS, signal, async (limited) => {
      const context = { tenantId, userId, sessionId, turnId, signal: limited };
      await deps.hooks.onError?.(context, { where: 'extraction', error });
    });
  } catch (hookError) {
    deps.log.error({ tenantId, turnId, err: hookError }, 'The onError hook failed.');
  }
}
