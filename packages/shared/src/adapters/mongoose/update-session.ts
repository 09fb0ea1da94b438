import type { SessionAggregate } from '../../domain/aggregate.ts';
import type { SessionUpdate, UpdateSession } from '../decided-store.ts';
import type { Attempt } from './atomic-write.ts';
import { queueExtractions } from './extraction-queue.ts';
import { answerChange, firstAnswer, type KeyedWrite, writeIdOf } from './idempotency.ts';
import { sessionId } from './record-key.ts';
import { loadAggregate, writesOf } from './session-aggregate.ts';
import type { StoreContext } from './store-context.ts';

/** Every write to a session: what is stored is read, decided on and changed by one atomic attempt. */
export function createUpdateSession(context: StoreContext): UpdateSession {
  return <R>(update: SessionUpdate<R>) =>
    context.atomically(sessionId(update.key), async (attempt) => {
      const { key, idempotency } = update;
      const id = writeIdOf(key.tenantId, idempotency);
      const { aggregate, version, write: used } = await loadAggregate(context, attempt, key, id);
      const write = id === null || idempotency === null ? null : { id, fingerprint: idempotency.fingerprint, used };
      const first = write === null ? null : firstAnswer<R>(write, context.clock.now());
      if (first !== null) return { value: first.value, replayed: true };
      const value =
        aggregate === null
          ? update.absent()
          : await decideAndWrite(context, attempt, update, { aggregate, version, write });
      return { value, replayed: false };
    });
}

interface Loaded {
  readonly aggregate: SessionAggregate;
  readonly version: number;
  readonly write: KeyedWrite | null;
}

async function decideAndWrite<R>(
  context: StoreContext,
  attempt: Attempt,
  { key, decide }: SessionUpdate<R>,
  { aggregate, version, write }: Loaded,
): Promise<R> {
  const now = context.clock.now();
  const read = { id: sessionId(key), version };
  const { result, change } = await decided(attempt, read, () => decide(aggregate, now));
  const answer = write === null ? [] : [answerChange(write, result, now)];
  if (change === null) {
    if (answer.length === 0) await attempt.confirm(read);
    else await attempt.commit({ ...read, set: {} }, answer);
    return result;
  }
  const { root, changes, texts } = writesOf(aggregate, change, version);
  // Before the rest, since they do no harm if that never comes to pass.
  await Promise.all([context.texts.put(read.id, texts), queueExtractions(context, change.turns, now)]);
  await attempt.commit(root, [...changes, ...answer]);
  return result;
}

/** A refusal counts only if what it is based on was all of one moment. */
async function decided<D>(
  attempt: Attempt,
  read: { readonly id: string; readonly version: number },
  decide: () => D,
): Promise<D> {
  try {
    return decide();
  } catch (refusal) {
    await attempt.confirm(read);
    throw refusal;
  }
}
