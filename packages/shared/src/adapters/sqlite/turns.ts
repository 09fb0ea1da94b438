import type { Message } from '../../domain/message.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DueSession, TurnStore } from '../../ports/turn-store.ts';
import { decidedTurns, type UpdateSession } from '../decided-store.ts';
import type { Database } from './database.ts';
import { recordsOf } from './document.ts';

/** Messages read at once while looking how far back the history may reach. */
const HISTORY_BATCH = 100;

export function createTurns(db: Database, clock: Clock, update: UpdateSession): TurnStore {
  return {
    ...decidedTurns(update),
    history: async (key, limits) => readHistory(db, key, limits),
    takeDue: async (limit, retryAfterMs) => takeDue(db, clock.now(), limit, retryAfterMs),
  };
}

type HistoryLimits = Parameters<TurnStore['history']>[1];

/** Reads backwards, and no further than a batch beyond what it answers. */
function readHistory(db: Database, key: SessionKey, limits: HistoryLimits): readonly Message[] {
  const session = db.get('SELECT pk FROM sessions WHERE tenant_id = ? AND id = ?', key.tenantId, key.sessionId);
  if (session === undefined) return [];
  const newestFirst: Message[] = [];
  let chars = 0;
  let before = Number.MAX_SAFE_INTEGER;
  while (newestFirst.length < limits.maxMessages) {
    const rows = db.all(
      'SELECT doc FROM messages WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
      ...[Number(session.pk), before, Math.min(HISTORY_BATCH, limits.maxMessages - newestFirst.length)],
    );
    for (const message of recordsOf<Message>(rows)) {
      if (newestFirst.length > 0) chars += message.content.length;
      if (chars > limits.maxChars) return newestFirst.reverse();
      newestFirst.push(message);
      before = message.seq;
    }
    if (rows.length === 0) break;
  }
  return newestFirst.reverse();
}

function takeDue(db: Database, now: number, limit: number, retryAfterMs: number): readonly DueSession[] {
  return db.transaction(() => {
    const rows = db.all(
      `SELECT pk, tenant_id, id, doc ->> '$.activeTurnId' AS turn_id FROM sessions
       WHERE sweep_at <= ? ORDER BY sweep_at LIMIT ?`,
      ...[now, limit],
    );
    return rows.map((row) => {
      db.run('UPDATE sessions SET sweep_at = ? WHERE pk = ?', now + retryAfterMs, Number(row.pk));
      const turnId = row.turn_id;
      return {
        tenantId: String(row.tenant_id),
        sessionId: String(row.id),
        turnId: turnId === null || turnId === undefined ? null : String(turnId),
      };
    });
  });
}
