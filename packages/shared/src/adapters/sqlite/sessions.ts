import type { Message } from '../../domain/message.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import { type NewSession, newSession, type Session } from '../../domain/session.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { ToolCall } from '../../domain/tool-call.ts';
import type { Turn } from '../../domain/turn.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SessionQuery, SessionStore } from '../../ports/session-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import { decidedSessions, type UpdateSession } from '../decided-store.ts';
import type { Database } from './database.ts';
import { recordOf, recordsOf } from './document.ts';
import { requeueUser } from './extraction-queue.ts';
import type { Idempotency } from './idempotency.ts';
import { loadToolCalls } from './session-aggregate.ts';

export interface SessionsOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly idempotency: Idempotency;
  readonly update: UpdateSession;
}

export function createSessions({ db, clock, idempotency, update }: SessionsOptions): SessionStore {
  return {
    ...decidedSessions(update),
    create: async (input, key) => idempotency.once(input.tenantId, key, () => insertSession(db, input, clock.now())),
    get: async (key) => findSession(db, key)?.session ?? null,
    list: async (query) => listSessions(db, query),
    delete: async (key) => deleteSession(db, key),
    messages: async (key, page) => listMessages(db, key, page),
    turn: async (tenantId, turnId) => findTurn(db, tenantId, turnId)?.turn ?? null,
    toolCalls: async (tenantId, turnId): Promise<readonly ToolCall[]> => {
      const found = findTurn(db, tenantId, turnId);
      return found === null ? [] : loadToolCalls(db, found.pk);
    },
  };
}

function insertSession(db: Database, input: NewSession, now: number): Session {
  const session = newSession(input, now);
  const { tenantId, id, userId, state, createdAt, dueAt } = session;
  db.run(
    'INSERT INTO sessions (tenant_id, id, user_id, state, created_at, sweep_at, doc) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ...[tenantId, id, userId, state, createdAt, dueAt, JSON.stringify(session)],
  );
  return session;
}

/** A session with the key of its row. */
function findSession(db: Database, key: SessionKey): { readonly pk: number; readonly session: Session } | null {
  const row = db.get('SELECT pk, doc FROM sessions WHERE tenant_id = ? AND id = ?', key.tenantId, key.sessionId);
  return row === undefined ? null : { pk: Number(row.pk), session: recordOf<Session>(row) };
}

function findTurn(db: Database, tenantId: string, id: string): { readonly pk: number; readonly turn: Turn } | null {
  const row = db.get('SELECT pk, doc FROM turns WHERE tenant_id = ? AND id = ?', tenantId, id);
  return row === undefined ? null : { pk: Number(row.pk), turn: recordOf<Turn>(row) };
}

function listSessions(db: Database, query: SessionQuery): Page<Session> {
  const { tenantId, userId, state, limit } = query;
  const [createdAt, id] = decodeCursor(query.cursor, ['number', 'string']) ?? [Number.MAX_SAFE_INTEGER, ''];
  const wanted: [string, string][] = [];
  if (userId !== null) wanted.push(['user_id = ?', userId]);
  // A user has few sessions: their index finds them, and the state (hence the +) only picks among them.
  if (state !== null) wanted.push([userId === null ? 'state = ?' : '+state = ?', state]);
  const filter = ['tenant_id = ?', ...wanted.map(([condition]) => condition)].join(' AND ');
  const rows = db.all(
    `SELECT doc FROM sessions WHERE ${filter} AND (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
    ...[tenantId, ...wanted.map(([, value]) => value), createdAt, id, limit + 1],
  );
  return pageOf(recordsOf<Session>(rows), limit, (session) => [session.createdAt, session.id]);
}

/** The rows that belong to it go by the foreign keys. */
function deleteSession(db: Database, key: SessionKey): Session | null {
  return db.transaction(() => {
    const found = findSession(db, key);
    if (found === null) return null;
    db.run('DELETE FROM sessions WHERE pk = ?', found.pk);
    requeueUser(db, found.session);
    return found.session;
  });
}

function listMessages(db: Database, key: SessionKey, { limit, cursor }: PageQuery): Page<Message> | null {
  const [after] = decodeCursor(cursor, ['number']) ?? [0];
  const found = findSession(db, key);
  if (found === null) return null;
  const rows = db.all(
    'SELECT doc FROM messages WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?',
    ...[found.pk, after, limit + 1],
  );
  return pageOf(recordsOf<Message>(rows), limit, ({ seq }) => [seq]);
}
