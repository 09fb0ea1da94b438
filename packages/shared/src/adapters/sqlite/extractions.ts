import { closeMemory, withoutTakenBack } from '../../domain/decide-memory.ts';
import type { MemoryChanges } from '../../domain/memory.ts';
import type { Message } from '../../domain/message.ts';
import type { Turn } from '../../domain/turn.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ExtractionStore, PendingExtraction, UserKey } from '../../ports/memory-store.ts';
import type { Database } from './database.ts';
import { recordOf, recordsOf } from './document.ts';
import { oldestPending, requeueUser } from './extraction-queue.ts';
import { findMemory, insertMemory, replaceMemory } from './memory-records.ts';

export function createExtractions(db: Database, clock: Clock): ExtractionStore {
  return {
    next: async (user) => db.transaction(() => nextPending(db, user)),
    complete: async (turn, changes) =>
      db.transaction(() => {
        forgetErased(db, turn);
        if (oldestPending(db, turn)?.id !== turn.id) return false;
        applyChanges(db, turn, withoutTakenBack(changes, tombstonesFor(db, turn)));
        return settleExtraction(db, turn, 'done');
      }),
    giveUp: async (turn) => db.transaction(() => settleExtraction(db, turn, 'failed')),
    takeDue: async (limit, retryAfterMs) => db.transaction(() => takeDue(db, clock.now(), limit, retryAfterMs)),
  };
}

function nextPending(db: Database, user: UserKey): PendingExtraction | null {
  forgetErased(db, user);
  const row = oldestPending(db, user);
  if (row === undefined) return null;
  const turn = recordOf<Turn>(row);
  const messages = db.all('SELECT doc FROM messages WHERE turn = ? ORDER BY seq', Number(row.pk));
  return { turn, messages: recordsOf<Message>(messages), tombstones: tombstonesFor(db, turn) };
}

/** What the user took back after the turn was accepted. What was said again afterwards is a new fact. */
function tombstonesFor(db: Database, { tenantId, userId, createdAt }: Turn): readonly string[] {
  const sql = 'SELECT text FROM memory_tombstones WHERE tenant_id = ? AND user_id = ? AND deleted_at >= ?';
  return db.all(sql, tenantId, userId, createdAt).map((row) => String(row.text));
}

function applyChanges(db: Database, { tenantId, userId }: Turn, changes: MemoryChanges): void {
  for (const memory of changes.added) insertMemory(db, memory);
  for (const end of changes.closed) {
    const memory = findMemory(db, tenantId, end.id);
    const closed = memory?.userId === userId ? closeMemory(memory, end) : null;
    if (closed !== null) replaceMemory(db, closed);
  }
}

/** Marks a pending extraction. False when it is pending no longer. */
function settleExtraction(db: Database, turn: Turn, extraction: 'done' | 'failed' | 'none'): boolean {
  const { tenantId, id } = turn;
  const row = db.get(
    "SELECT pk, doc FROM turns WHERE tenant_id = ? AND id = ? AND extraction = 'pending'",
    tenantId,
    id,
  );
  if (row === undefined) return false;
  const stored: Turn = { ...recordOf<Turn>(row), extraction };
  const sql = 'UPDATE turns SET extraction = ?, doc = ? WHERE pk = ?';
  db.run(sql, extraction, JSON.stringify(stored), Number(row.pk));
  requeueUser(db, stored);
  return true;
}

/** Turns that were accepted before their user's memories were erased owe nothing, also if they ended afterwards. */
export function forgetErased(db: Database, { tenantId, userId }: UserKey): void {
  const sql = 'SELECT erased_at FROM memory_erasures WHERE tenant_id = ? AND user_id = ?';
  const erasedAt = db.get(sql, tenantId, userId)?.erased_at;
  if (erasedAt === undefined) return;
  const rows = db.all(
    `SELECT doc FROM turns
     WHERE tenant_id = ? AND user_id = ? AND extraction = 'pending' AND created_at <= ?`,
    ...[tenantId, userId, Number(erasedAt)],
  );
  for (const turn of recordsOf<Turn>(rows)) settleExtraction(db, turn, 'none');
}

function takeDue(db: Database, now: number, limit: number, retryAfterMs: number): readonly UserKey[] {
  const rows = db.all(
    'SELECT tenant_id, user_id FROM extraction_users WHERE sweep_at <= ? ORDER BY sweep_at LIMIT ?',
    ...[now, limit],
  );
  return rows.map((row) => {
    const user: UserKey = { tenantId: String(row.tenant_id), userId: String(row.user_id) };
    db.run(
      'UPDATE extraction_users SET sweep_at = ? WHERE tenant_id = ? AND user_id = ?',
      ...[now + retryAfterMs, user.tenantId, user.userId],
    );
    return user;
  });
}
