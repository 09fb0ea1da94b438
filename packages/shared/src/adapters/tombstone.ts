import type { MemoryChanges } from '../domain/memory.ts';

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
