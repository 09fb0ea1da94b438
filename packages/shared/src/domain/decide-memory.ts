import type { Memory, MemoryChanges, MemoryPatch } from './memory.ts';

/**
 * What stays of a memory that a person took back (deleted, reworded or ended), so that an extraction of an older turn
 * does not bring it back: the text in a form in which trifles of spelling do not count. It holds for turns that were
 * accepted before; what the user says again afterwards is a new fact.
 */
export function tombstoneText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/[.!?。！？]+$/u, '');
}

/** Leaves out what was taken back. Checked by the write itself: a deletion may come while the extraction runs. */
export function withoutTakenBack(changes: MemoryChanges, tombstones: readonly string[]): MemoryChanges {
  const dead = new Set(tombstones);
  const added = changes.added.filter(({ text }) => !dead.has(tombstoneText(text)));
  if (added.length === changes.added.length) return changes;
  const ids = new Set(added.map(({ id }) => id));
  const dropped = new Set(changes.added.map(({ id }) => id).filter((id) => !ids.has(id)));
  const closed = changes.closed.map((end) =>
    end.supersededBy !== null && dropped.has(end.supersededBy) ? { ...end, supersededBy: null } : end,
  );
  return { added, closed };
}

export interface PatchedMemory {
  readonly memory: Memory;
  /** Whether the old text leaves a tombstone. */
  readonly takenBack: boolean;
}

/**
 * A person's change. Value, keywords and quote were drawn from the text: with another text they go, unless the change
 * gives new ones, since later facts are compared with them. What is reworded or ended is taken back like what is
 * deleted.
 */
export function patchMemory(before: Memory, patch: MemoryPatch, now: number): PatchedMemory {
  const isReworded = patch.text !== undefined && tombstoneText(patch.text) !== tombstoneText(before.text);
  const derived = isReworded ? ({ value: null, keywords: [], quote: null } as const) : {};
  const memory: Memory = { ...before, ...derived, ...patch, updatedAt: now };
  const isEnded = memory.validTo !== null && memory.validTo <= now;
  return { memory, takenBack: isReworded || isEnded };
}

/** What an extraction closes. Null: it was deleted or ended by a person meanwhile, and stays as it is. */
export function closeMemory(memory: Memory | null, end: MemoryChanges['closed'][number]): Memory | null {
  const { validTo, supersededBy } = end;
  if (memory === null || (memory.validTo !== null && memory.validTo <= validTo)) return null;
  return { ...memory, validTo, supersededBy, updatedAt: validTo };
}
