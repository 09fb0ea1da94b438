import { createHash } from 'node:crypto';
import { tombstoneText } from '../../domain/decide-memory.ts';
import type { Memory } from '../../domain/memory.ts';
import type { UserKey } from '../../ports/memory-store.ts';
import type { Attempt, RecordChange } from './atomic-write.ts';
import { finishWrite } from './ordered-writes.ts';
import { memoryId, tombstoneId, userId } from './record-key.ts';
import type { RecordDocument, Records } from './records.ts';
import { Conflict } from './retry.ts';

/** For so long the place of a deleted record is kept: longer than an older write may go on being repeated. */
const KEPT_PLACE_MS = 60 * 60_000;

/** The root of a user's memories, all of whose writes go by its version. */
export interface MemoryRoot {
  readonly id: string;
  readonly version: number;
  readonly erasedAt: number;
  /** What a write with the same key answered, also if that was long ago. */
  readonly write: RecordDocument | null;
}

/** In the order of the index the root comes first and the key last, as in `loadAggregate`. */
export async function loadMemoryRoot(
  records: Records,
  { session }: Attempt,
  user: UserKey,
  write: string | null = null,
): Promise<MemoryRoot> {
  const id = userId(user);
  const found = await records
    .find({ open: { $in: write === null ? [id] : [id, write] } })
    .sort({ open: 1, rank: 1 })
    .session(session)
    .lean();
  const root = found.find(({ _id }) => _id === id);
  if (root?.redo !== undefined) {
    await finishWrite(records, root);
    throw new Conflict(id);
  }
  const used = found.find(({ _id }) => _id === write) ?? null;
  return { id, version: root?.version ?? 0, erasedAt: root?.erasedAt ?? 0, write: used };
}

/** A change of the root that only raises its version. */
export function touched({ id, version }: MemoryRoot) {
  return { id, version, set: { kind: 'user', open: id, rank: 0 } } as const;
}

export function putMemory({ version }: MemoryRoot, memory: Memory, kind: 'add' | 'put'): RecordChange {
  const { tenantId, id, createdAt, validTo } = memory;
  const set = { kind: 'memory', user: userId(memory), id, createdAt, validTo, json: JSON.stringify(memory) } as const;
  return { kind, id: memoryId(tenantId, id), version: version + 1, set };
}

export function removeMemory({ version }: MemoryRoot, { tenantId, id }: Memory, now: number): RecordChange {
  return { kind: 'put', id: memoryId(tenantId, id), version: version + 1, ...placeOnly(now) };
}

/** All memories and tombstones of the user. */
export function removeAll({ id, version }: MemoryRoot, now: number): readonly RecordChange[] {
  return (['memory', 'tombstone'] as const).map((kind) => ({
    kind: 'each',
    where: { fields: { user: id, kind }, before: { version: version + 1 } },
    ...placeOnly(now),
  }));
}

function placeOnly(now: number) {
  return {
    set: { kind: 'deleted', expiresAt: new Date(now + KEPT_PLACE_MS) },
    unset: ['user', 'id', 'createdAt', 'validTo', 'json', 'text'],
  } as const;
}

/** That a person took the memory back; `createdAt` is when. */
export function putTombstone({ id: user, version }: MemoryRoot, memory: Memory, now: number): RecordChange {
  const text = tombstoneText(memory.text);
  const hash = createHash('sha256').update(text).digest('hex');
  const set = { kind: 'tombstone', user, createdAt: now, text } as const;
  return { kind: 'put', id: tombstoneId(memory, hash), version: version + 1, set, unset: ['expiresAt'] };
}

/** What the user took back since a turn was accepted. What was said again afterwards is a new fact. */
export async function tombstonesSince(
  records: Records,
  user: string,
  since: number,
  session: Attempt['session'] = null,
): Promise<readonly string[]> {
  const found = await records
    .find({ user, kind: 'tombstone', createdAt: { $gte: since } }, { text: 1 })
    .session(session)
    .lean();
  return found.map(({ text = '' }) => text);
}
