import type { Clock } from '../../ports/clock.ts';
import type { UpdateSession } from '../decided-store.ts';
import type { Database } from './database.ts';
import type { Idempotency } from './idempotency.ts';
import { loadAggregate, saveChange } from './session-aggregate.ts';

/** Every write to a session: one transaction, with the decision in the middle. */
export function createUpdateSession(db: Database, clock: Clock, idempotency: Idempotency): UpdateSession {
  return async (update) =>
    idempotency.once(update.key.tenantId, update.idempotency, () => {
      const loaded = loadAggregate(db, update.key);
      if (loaded === null) return update.absent();
      const { result, change } = update.decide(loaded.aggregate, clock.now());
      if (change !== null) saveChange(db, loaded, change);
      return result;
    });
}
