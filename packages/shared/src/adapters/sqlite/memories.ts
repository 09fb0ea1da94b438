import { patchMemory, tombstoneText } from '../../domain/decide-memory.ts';
import type { Memory, MemoryPatch } from '../../domain/memory.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import type { Clock } from '../../ports/clock.ts';
import type { MemoryStore, UserKey } from '../../ports/memory-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import type { Database } from './database.ts';
import { recordsOf } from './document.ts';
import { forgetErased } from './extractions.ts';
import type { Idempotency } from './idempotency.ts';
import { findMemory, insertMemory, replaceMemory } from './memory-records.ts';

export function createMemories(db: Database, clock: Clock, idempotency: Idempotency): MemoryStore {
  return {
    add: async (memory, key) =>
      idempotency.once(memory.tenantId, key, () => {
        insertMemory(db, memory);
        return memory;
      }),
    get: async (tenantId, id) => findMemory(db, tenantId, id),
    list: async (user, page) => listValid(db, user, clock.now(), page),
    valid: async (user, limit) => listValid(db, user, clock.now(), { limit, cursor: null }).items,
    update: async (tenantId, id, patch) =>
      db.transaction(() => {
        const before = findMemory(db, tenantId, id);
        return before === null ? null : applyPatch(db, before, patch, clock.now());
      }),
    delete: async (tenantId, id) =>
      db.transaction(() => {
        const memory = findMemory(db, tenantId, id);
        if (memory === null) return false;
        db.run('DELETE FROM memories WHERE tenant_id = ? AND id = ?', tenantId, id);
        leaveTombstone(db, memory, clock.now());
        return true;
      }),
    deleteAll: async (user) => db.transaction(() => eraseAll(db, user, clock.now())),
  };
}

function listValid(db: Database, { tenantId, userId }: UserKey, now: number, page: PageQuery): Page<Memory> {
  const [createdAt, id] = decodeCursor(page.cursor, ['number', 'string']) ?? [Number.MAX_SAFE_INTEGER, ''];
  const rows = db.all(
    `SELECT doc FROM memories WHERE tenant_id = ? AND user_id = ? AND (created_at, id) < (?, ?)
     AND (valid_to IS NULL OR valid_to > ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
    ...[tenantId, userId, createdAt, id, now, page.limit + 1],
  );
  return pageOf(recordsOf<Memory>(rows), page.limit, (memory) => [memory.createdAt, memory.id]);
}

function applyPatch(db: Database, before: Memory, patch: MemoryPatch, now: number): Memory {
  const { memory, takenBack } = patchMemory(before, patch, now);
  if (takenBack) leaveTombstone(db, before, now);
  replaceMemory(db, memory);
  return memory;
}

function leaveTombstone(db: Database, { tenantId, userId, text }: Memory, now: number): void {
  db.run(
    `INSERT INTO memory_tombstones (tenant_id, user_id, text, deleted_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (tenant_id, user_id, text) DO UPDATE SET deleted_at = excluded.deleted_at`,
    ...[tenantId, userId, tombstoneText(text), now],
  );
}

/**
 * Erasure: no text of the user stays, not even as a tombstone, and no hash either, which would only catch the same
 * words. Instead a mark says when it was: no turn that was accepted before owes an extraction any more.
 */
function eraseAll(db: Database, user: UserKey, now: number): number {
  const { tenantId, userId } = user;
  const deleted = db.run('DELETE FROM memories WHERE tenant_id = ? AND user_id = ?', tenantId, userId);
  db.run('DELETE FROM memory_tombstones WHERE tenant_id = ? AND user_id = ?', tenantId, userId);
  db.run(
    'INSERT OR REPLACE INTO memory_erasures (tenant_id, user_id, erased_at) VALUES (?, ?, ?)',
    ...[tenantId, userId, now],
  );
  forgetErased(db, user);
  return deleted;
}
