import type { SessionAggregate, SessionChange } from '../../domain/aggregate.ts';
import type { Session } from '../../domain/session.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { ToolCall } from '../../domain/tool-call.ts';
import { isTerminalStatus, type Turn } from '../../domain/turn.ts';
import type { Database } from './database.ts';
import { recordOf, recordsOf } from './document.ts';
import { queueExtraction } from './extraction-queue.ts';

/** An aggregate with the integer keys of its rows. */
export interface LoadedAggregate {
  readonly aggregate: SessionAggregate;
  readonly pk: number;
  /** By the turn's id. */
  readonly turnPks: ReadonlyMap<string, number>;
}

/** Reads what a decision may look at: never the history, so that its length does not matter. */
export function loadAggregate(db: Database, { tenantId, sessionId }: SessionKey): LoadedAggregate | null {
  const row = db.get('SELECT pk, doc FROM sessions WHERE tenant_id = ? AND id = ?', tenantId, sessionId);
  if (row === undefined) return null;
  const pk = Number(row.pk);
  const turnRows = db.all('SELECT pk, doc FROM turns WHERE session = ? AND is_open = 1 ORDER BY number', pk);
  const turns = recordsOf<Turn>(turnRows);
  const turnPks = new Map(turns.map(({ id }, i) => [id, Number(turnRows[i]?.pk)]));
  const head = turnRows[0]?.pk;
  const toolCalls = head === undefined ? [] : loadToolCalls(db, Number(head));
  return { aggregate: { session: recordOf<Session>(row), turns, toolCalls }, pk, turnPks };
}

export function loadToolCalls(db: Database, turnPk: number): readonly ToolCall[] {
  return recordsOf(db.all('SELECT doc FROM tool_calls WHERE turn = ? ORDER BY step, position', turnPk));
}

/** Writes the difference. Runs in the transaction that loaded the aggregate. */
export function saveChange(db: Database, loaded: LoadedAggregate, change: SessionChange): void {
  const turnPks = new Map(loaded.turnPks);
  for (const turn of change.turns) turnPks.set(turn.id, saveTurn(db, loaded, turn));
  const pkOf = (turnId: string) => turnPks.get(turnId) ?? null;
  for (const turnId of change.rolledBack) db.run('DELETE FROM messages WHERE turn = ?', pkOf(turnId));
  for (const message of change.messages) {
    db.run(
      'INSERT INTO messages (session, seq, turn, doc) VALUES (?, ?, ?, ?)',
      loaded.pk,
      message.seq,
      pkOf(message.turnId),
      JSON.stringify(message),
    );
  }
  for (const call of change.toolCalls) saveToolCall(db, pkOf(call.turnId), call);
  saveSession(db, loaded, change.session);
}

function saveTurn(db: Database, { pk, turnPks }: LoadedAggregate, turn: Turn): number {
  const { extraction, finishedAt } = turn;
  const isOpen = isTerminalStatus(turn.status) ? 0 : 1;
  const doc = JSON.stringify(turn);
  const known = turnPks.get(turn.id);
  if (known === undefined) {
    const row = db.get(
      `INSERT INTO turns (session, number, tenant_id, id, user_id, is_open, extraction, created_at, finished_at, doc)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING pk`,
      ...[pk, turn.number, turn.tenantId, turn.id, turn.userId, isOpen, extraction, turn.createdAt, finishedAt, doc],
    );
    return Number(row?.pk);
  }
  if (isOpen === 1) {
    // Leaves the indexed columns alone: SQLite rewrites the index of a column that a statement sets, changed or not.
    db.run('UPDATE turns SET doc = ? WHERE pk = ?', doc, known);
    return known;
  }
  db.run(
    'UPDATE turns SET is_open = 0, extraction = ?, finished_at = ?, doc = ? WHERE pk = ?',
    ...[extraction, finishedAt, doc, known],
  );
  if (extraction === 'pending') queueExtraction(db, turn);
  return known;
}

function saveToolCall(db: Database, turnPk: number | null, call: ToolCall): void {
  db.run(
    `INSERT INTO tool_calls (turn, step, position, doc) VALUES (?, ?, ?, ?)
     ON CONFLICT (turn, step, position) DO UPDATE SET doc = excluded.doc`,
    ...[turnPk, call.step, call.position, JSON.stringify(call)],
  );
}

function saveSession(db: Database, { pk, aggregate }: LoadedAggregate, session: Session): void {
  const { state, dueAt } = session;
  const doc = JSON.stringify(session);
  const before = aggregate.session;
  if (state !== before.state) {
    db.run('UPDATE sessions SET state = ?, doc = ? WHERE pk = ?', state, doc, pk);
  } else {
    db.run('UPDATE sessions SET doc = ? WHERE pk = ?', doc, pk);
  }
  // An unchanged dueAt keeps its place in the sweep, where `takeDue` may have put it off.
  if (dueAt !== before.dueAt) db.run('UPDATE sessions SET sweep_at = ? WHERE pk = ?', dueAt, pk);
}
