import type { Session } from '../../domain/session.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import { sessionId } from './record-key.ts';
import { loadAggregate } from './session-aggregate.ts';
import type { StoreContext } from './store-context.ts';

/** Longer than the last write of a holder that does not know yet may be on its way. */
const LATE_WRITES_MS = 10 * 60_000;

/**
 * The session is gone with one write, which leaves no more of it than its id. What belongs to it, be it a hundred
 * thousand messages, goes after that, and once more later: for the sweep finds what is left when this process dies, or
 * what a late writer has stored since.
 */
export async function deleteSession(context: StoreContext, key: SessionKey): Promise<Session | null> {
  const id = sessionId(key);
  const session = await context.atomically(id, async (attempt) => {
    const { aggregate, version } = await loadAggregate(context, attempt, key, null);
    if (aggregate === null) return null;
    await attempt.commit(
      {
        id,
        version,
        set: { kind: 'deleted', sweepAt: context.clock.now() + LATE_WRITES_MS },
        unset: ['json', 'texts', 'open', 'rank', 'tenantId', 'id', 'user', 'createdAt', 'state', 'activeTurnId'],
      },
      [],
    );
    return aggregate.session;
  });
  if (session !== null) {
    await purge(context, id).catch((error: unknown) => {
      context.log.warn(
        { err: error, session: id },
        'The data of a deleted session was not all removed; the sweep goes on.',
      );
    });
  }
  return session;
}

async function purge({ records, texts }: StoreContext, session: string): Promise<void> {
  await Promise.all([records.deleteMany({ session }), texts.deleteAll(session)]);
}

/** The second time, and then nothing is left. */
export async function purgeDeleted(context: StoreContext, session: string): Promise<void> {
  await purge(context, session);
  await context.records.deleteOne({ _id: session, kind: 'deleted' });
}
