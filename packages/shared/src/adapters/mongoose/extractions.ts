import { closeMemory, withoutTakenBack } from '../../domain/decide-memory.ts';
import type { Memory, MemoryChanges } from '../../domain/memory.ts';
import type { Message } from '../../domain/message.ts';
import type { Turn } from '../../domain/turn.ts';
import type { ExtractionStore, PendingExtraction, UserKey } from '../../ports/memory-store.ts';
import type { Attempt, RecordChange } from './atomic-write.ts';
import { forgetErased, oldestPending, takeDueUsers } from './extraction-queue.ts';
import { loadMemoryRoot, type MemoryRoot, putMemory, tombstonesSince, touched } from './memory-records.ts';
import { decodeRecords, recordOf } from './record-json.ts';
import { memoryId, turnId, userId } from './record-key.ts';
import { turnOf } from './session-aggregate.ts';
import type { StoreContext } from './store-context.ts';

export function createExtractions(context: StoreContext): ExtractionStore {
  return {
    next: (user) => nextPending(context, user),
    complete: (turn, changes) => completeExtraction(context, turn, changes),
    giveUp: (turn) => giveUpExtraction(context, turn),
    takeDue: (limit, retryAfterMs) => takeDueUsers(context, limit, retryAfterMs),
  };
}

async function nextPending(context: StoreContext, user: UserKey): Promise<PendingExtraction | null> {
  const { records, texts, atomically } = context;
  const { id, erasedAt } = await atomically(userId(user), (attempt) => loadMemoryRoot(records, attempt, user));
  if (erasedAt > 0) await forgetErased(context, id, erasedAt);
  const pending = await oldestPending(context, id, erasedAt);
  if (pending === null) return null;
  const [turn, messages, tombstones] = await Promise.all([
    turnOf(texts, pending),
    records.find({ turn: pending._id, kind: 'message' }).sort({ seq: 1 }).lean(),
    tombstonesSince(records, id, pending.createdAt ?? 0),
  ]);
  return { turn, messages: await decodeRecords<Message>(texts, pending.session ?? '', messages), tombstones };
}

function completeExtraction(context: StoreContext, turn: Turn, changes: MemoryChanges): Promise<boolean> {
  const { records, atomically } = context;
  return atomically(userId(turn), async (attempt) => {
    const root = await loadMemoryRoot(records, attempt, turn);
    const oldest = await oldestPending(context, root.id, root.erasedAt, attempt.session);
    if (oldest?._id !== turnId(turn.tenantId, turn.id)) return false;
    const tombstones = await tombstonesSince(records, root.id, turn.createdAt, attempt.session);
    const { added, closed } = withoutTakenBack(changes, tombstones);
    const ended = await endedMemories(context, attempt, turn, closed);
    await attempt.commit(touched(root), [
      ...added.map((memory) => putMemory(root, memory, 'add')),
      ...ended.map((memory) => putMemory(root, memory, 'put')),
      settled(root, turn, 'done'),
    ]);
    return true;
  });
}

/** Those of the user's to close, as they are then. */
async function endedMemories(
  { records }: StoreContext,
  { session }: Attempt,
  turn: Turn,
  closed: MemoryChanges['closed'],
): Promise<readonly Memory[]> {
  if (closed.length === 0) return [];
  const ids = closed.map(({ id }) => memoryId(turn.tenantId, id));
  const found = await records
    .find({ _id: { $in: ids }, kind: 'memory', user: userId(turn) })
    .session(session)
    .lean();
  const memories = new Map(found.map((document) => [document._id, recordOf<Memory>(document)]));
  return closed.flatMap((end) => closeMemory(memories.get(memoryId(turn.tenantId, end.id)) ?? null, end) ?? []);
}

function giveUpExtraction(context: StoreContext, turn: Turn): Promise<boolean> {
  const { records, atomically } = context;
  return atomically(userId(turn), async (attempt) => {
    const root = await loadMemoryRoot(records, attempt, turn);
    const _id = turnId(turn.tenantId, turn.id);
    const pending = await records.findOne({ _id, owedBy: root.id }, { _id: 1 }).session(attempt.session).lean();
    if (pending === null) return false;
    await attempt.commit(touched(root), [settled(root, turn, 'failed')]);
    return true;
  });
}

function settled({ id }: MemoryRoot, turn: Turn, extraction: 'done' | 'failed'): RecordChange {
  const _id = turnId(turn.tenantId, turn.id);
  return { kind: 'each', where: { fields: { _id, owedBy: id } }, set: { extraction }, unset: ['owedBy'] };
}
