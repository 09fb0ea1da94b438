import { patchMemory } from '../../domain/decide-memory.ts';
import type { Memory, MemoryPatch } from '../../domain/memory.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import type { MemoryStore, UserKey } from '../../ports/memory-store.ts';
import type { IdempotencyKey, Replayable } from '../../ports/session-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import type { Attempt, RecordChange } from './atomic-write.ts';
import { answerChange, firstAnswer, writeIdOf } from './idempotency.ts';
import {
  loadMemoryRoot,
  type MemoryRoot,
  putMemory,
  putTombstone,
  removeAll,
  removeMemory,
  touched,
} from './memory-records.ts';
import { beforeKey } from './newest-first.ts';
import { finishWrite } from './ordered-writes.ts';
import { recordOf } from './record-json.ts';
import { memoryId, userId } from './record-key.ts';
import type { StoreContext } from './store-context.ts';

export function createMemories(context: StoreContext): MemoryStore {
  return {
    add: (memory, key) => addMemory(context, memory, key),
    get: (tenantId, id) => findMemory(context, null, tenantId, id),
    list: (user, page) => listValid(context, user, page),
    valid: async (user, limit) => (await listValid(context, user, { limit, cursor: null })).items,
    update: (tenantId, id, patch) =>
      changeMemory(context, tenantId, id, (root, before, now) => changesOf(root, before, patch, now)),
    delete: async (tenantId, id) =>
      (await changeMemory(context, tenantId, id, (root, memory, now) => ({
        result: true,
        changes: [putTombstone(root, memory, now), removeMemory(root, memory, now)],
      }))) ?? false,
    deleteAll: (user) => eraseAll(context, user),
  };
}

function addMemory(
  { records, clock, atomically }: StoreContext,
  memory: Memory,
  key: IdempotencyKey | null,
): Promise<Replayable<Memory>> {
  return atomically(userId(memory), async (attempt) => {
    const now = clock.now();
    const id = writeIdOf(memory.tenantId, key);
    const root = await loadMemoryRoot(records, attempt, memory, id);
    const write = id === null || key === null ? null : { id, fingerprint: key.fingerprint, used: root.write };
    const first = write === null ? null : firstAnswer<Memory>(write, now);
    if (first !== null) return { value: first.value, replayed: true };
    const answer = write === null ? [] : [answerChange(write, memory, now)];
    await attempt.commit(touched(root), [putMemory(root, memory, 'add'), ...answer]);
    return { value: memory, replayed: false };
  });
}

async function findMemory(
  { records }: StoreContext,
  session: Attempt['session'],
  tenantId: string,
  id: string,
): Promise<Memory | null> {
  const found = await records
    .findOne({ _id: memoryId(tenantId, id), kind: 'memory' })
    .session(session)
    .lean();
  return found === null ? null : recordOf<Memory>(found);
}

/** Changes one memory under its user's root. Null: there is none. */
function changeMemory<R>(
  context: StoreContext,
  tenantId: string,
  id: string,
  change: (root: MemoryRoot, before: Memory, now: number) => { result: R; changes: readonly RecordChange[] },
): Promise<R | null> {
  return context.atomically(memoryId(tenantId, id), async (attempt) => {
    // Twice, since the memory tells whose it is, and its root has to be read before what is decided on.
    const known = await findMemory(context, attempt.session, tenantId, id);
    if (known === null) return null;
    const root = await loadMemoryRoot(context.records, attempt, known);
    const before = attempt.session === null ? await findMemory(context, null, tenantId, id) : known;
    if (before === null) return null;
    const { result, changes } = change(root, before, context.clock.now());
    await attempt.commit(touched(root), changes);
    return result;
  });
}

function changesOf(root: MemoryRoot, before: Memory, patch: MemoryPatch, now: number) {
  const { memory, takenBack } = patchMemory(before, patch, now);
  return {
    result: memory,
    changes: [...(takenBack ? [putTombstone(root, before, now)] : []), putMemory(root, memory, 'put')],
  };
}

/**
 * Erasure: no text of the user stays, not even as a tombstone, and no hash either, which would only catch the same
 * words. Instead a mark says when it was: no turn that was accepted before owes an extraction any more.
 */
function eraseAll({ records, clock, atomically }: StoreContext, user: UserKey): Promise<number> {
  return atomically(userId(user), async (attempt) => {
    const now = clock.now();
    const root = await loadMemoryRoot(records, attempt, user);
    const count = await records.countDocuments({ user: root.id, kind: 'memory' }).session(attempt.session);
    const { set, ...rest } = touched(root);
    await attempt.commit({ ...rest, set: { ...set, erasedAt: now } }, [
      ...removeAll(root, now),
      {
        kind: 'each',
        where: { fields: { owedBy: root.id }, before: { createdAt: now } },
        set: { extraction: 'none' },
        unset: ['owedBy'],
      },
    ]);
    return count;
  });
}

async function listValid({ records, clock }: StoreContext, user: UserKey, page: PageQuery): Promise<Page<Memory>> {
  const after = decodeCursor(page.cursor, ['number', 'string']);
  const id = userId(user);
  const isValid = { $or: [{ validTo: null }, { validTo: { $gt: clock.now() } }] };
  for (;;) {
    const [root, found] = await Promise.all([
      records.findOne({ _id: id }, { version: 1, redo: 1 }).lean(),
      records
        .find({ user: id, kind: 'memory', $and: [isValid, ...(after === null ? [] : [beforeKey(after)])] })
        .sort({ createdAt: -1, id: -1 })
        .limit(page.limit + 1)
        .lean(),
    ]);
    if (root?.redo === undefined) {
      const memories = found.map((document) => recordOf<Memory>(document));
      return pageOf(memories, page.limit, (memory) => [memory.createdAt, memory.id]);
    }
    await finishWrite(records, root);
  }
}
