import type { Turn } from '../../domain/turn.ts';
import type { UserKey } from '../../ports/memory-store.ts';
import type { Attempt } from './atomic-write.ts';
import { userId, userOf } from './record-key.ts';
import type { RecordDocument } from './records.ts';
import type { StoreContext } from './store-context.ts';

/** Longer than a write may take from its first step to its commit. */
const COMMIT_MS = 60_000;

/**
 * Notes that users will owe an extraction; one who is noted already keeps the place. This comes before the commit that
 * makes it true and is no part of it: else all turns of a user that end at once would be in each other's way. The sweep
 * drops a note that nothing came of.
 */
export async function queueExtractions({ records }: StoreContext, turns: readonly Turn[], now: number): Promise<void> {
  for (const turn of turns.filter(({ extraction }) => extraction === 'pending')) {
    const id = userId(turn);
    const note = {
      kind: 'user',
      open: id,
      rank: 0,
      version: { $ifNull: ['$version', 1] },
      extractAt: { $ifNull: ['$extractAt', turn.finishedAt] },
      owedSince: now,
    };
    await records.updateOne({ _id: id }, [{ $set: note }], { upsert: true, updatePipeline: true });
  }
}

/** The user's pending turn that ended first, of those accepted after all was erased. Turns of the same moment go by their ids. */
export async function oldestPending(
  { records }: StoreContext,
  user: string,
  erasedAt: number,
  session: Attempt['session'] = null,
): Promise<RecordDocument | null> {
  return records
    .findOne({ owedBy: user, createdAt: { $gt: erasedAt } })
    .sort({ finishedAt: 1, id: 1 })
    .session(session)
    .lean();
}

/** Turns that were accepted before their user's memories were erased owe nothing, also if they ended afterwards. */
export async function forgetErased({ records }: StoreContext, user: string, erasedAt: number): Promise<void> {
  const erased = { owedBy: user, createdAt: { $lte: erasedAt } };
  await records.updateMany(erased, { $set: { extraction: 'none' }, $unset: { owedBy: 1 } });
}

/** See `ExtractionStore.takeDue`. */
export async function takeDueUsers(
  context: StoreContext,
  limit: number,
  retryAfterMs: number,
): Promise<readonly UserKey[]> {
  const { records, clock } = context;
  const taken: UserKey[] = [];
  const now = clock.now();
  while (taken.length < limit) {
    const due = await records
      .find({ extractAt: { $lte: now } })
      .sort({ extractAt: 1 })
      .limit(limit - taken.length)
      .lean();
    if (due.length === 0) break;
    const owing = await Promise.all(due.map((user) => takeUser(context, user, now, retryAfterMs)));
    taken.push(...owing.filter((user) => user !== null));
  }
  return taken;
}

/** Null: another took the user meanwhile, or nothing is owed. */
async function takeUser(
  context: StoreContext,
  user: RecordDocument,
  now: number,
  retryAfterMs: number,
): Promise<UserKey | null> {
  const { records } = context;
  const { _id, extractAt, owedSince = 0, erasedAt = 0 } = user;
  const [taken, pending] = await Promise.all([
    records.updateOne({ _id, extractAt: extractAt ?? 0 }, { $set: { extractAt: now + retryAfterMs } }),
    oldestPending(context, _id, erasedAt),
  ]);
  if (taken.modifiedCount === 0) return null;
  if (pending !== null) return userOf(_id);
  if (erasedAt > 0) await forgetErased(context, _id, erasedAt);
  if (owedSince < now - COMMIT_MS) await records.updateOne({ _id, owedSince }, { $unset: { extractAt: 1 } });
  return null;
}
