import type { SessionKey } from '../../domain/tenant.ts';
import { finishWrite } from './ordered-writes.ts';
import { sessionId, turnId } from './record-key.ts';
import type { RecordDocument, Records } from './records.ts';

/**
 * Reads records of a session together with the session itself; what a broken-off write still owes them is carried out
 * first. Null: the tenant has no such session.
 */
export async function readOfSession<R>(records: Records, key: SessionKey, read: () => Promise<R>): Promise<R | null> {
  for (;;) {
    const [settled, found] = await Promise.all([isSettled(records, sessionId(key)), read()]);
    if (settled !== 'just now') return settled === 'gone' ? null : found;
  }
}

/** The same for a turn and what is read with it. */
export async function readOfTurn<R>(
  records: Records,
  tenantId: string,
  id: string,
  read: () => Promise<R>,
): Promise<{ readonly turn: RecordDocument; readonly found: R } | null> {
  for (;;) {
    const [turn, found] = await Promise.all([records.findOne({ _id: turnId(tenantId, id) }).lean(), read()]);
    if (turn === null) return null;
    const settled = await isSettled(records, turn.session ?? '');
    if (settled !== 'just now') return settled === 'gone' ? null : { turn, found };
  }
}

async function isSettled(records: Records, session: string): Promise<'yes' | 'just now' | 'gone'> {
  const root = await records.findOne({ _id: session, kind: 'session' }, { version: 1, redo: 1 }).lean();
  if (root === null) return 'gone';
  if (root.redo === undefined) return 'yes';
  await finishWrite(records, root);
  return 'just now';
}
