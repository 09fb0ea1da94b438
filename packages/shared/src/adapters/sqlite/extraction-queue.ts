import type { Turn } from '../../domain/turn.ts';
import type { UserKey } from '../../ports/memory-store.ts';
import type { Database, Row } from './database.ts';

/** Notes that a user has a pending extraction; one that waits already keeps its place. */
export function queueExtraction(db: Database, { tenantId, userId, finishedAt }: Turn): void {
  db.run(
    'INSERT INTO extraction_users (tenant_id, user_id, sweep_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ...[tenantId, userId, finishedAt],
  );
}

/** The user's pending turn that ended first. Turns that ended in the same millisecond go by their ids. */
export function oldestPending(db: Database, { tenantId, userId }: UserKey): Row | undefined {
  return db.get(
    `SELECT pk, id, finished_at, created_at, doc FROM turns
     WHERE tenant_id = ? AND user_id = ? AND extraction = 'pending' ORDER BY finished_at, id LIMIT 1`,
    ...[tenantId, userId],
  );
}

/** After a pending extraction went: the next one is due, or the user owes none any more. */
export function requeueUser(db: Database, user: UserKey): void {
  const next = oldestPending(db, user);
  const { tenantId, userId } = user;
  if (next === undefined) {
    db.run('DELETE FROM extraction_users WHERE tenant_id = ? AND user_id = ?', tenantId, userId);
    return;
  }
  db.run(
    'UPDATE extraction_users SET sweep_at = ? WHERE tenant_id = ? AND user_id = ?',
    ...[Number(next.finished_at), tenantId, userId],
  );
}
