import type { Message } from '../../domain/message.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { DueSession, TurnStore } from '../../ports/turn-store.ts';
import { decidedTurns, type UpdateSession } from '../decided-store.ts';
import { purgeDeleted } from './delete-session.ts';
import { decodeRecords } from './record-json.ts';
import { sessionId } from './record-key.ts';
import type { RecordDocument } from './records.ts';
import { readOfSession } from './settled-records.ts';
import type { StoreContext } from './store-context.ts';

/** Messages read at once while looking how far back the history may reach. */
const HISTORY_BATCH = 100;

export function createTurns(context: StoreContext, update: UpdateSession): TurnStore {
  return {
    ...decidedTurns(update),
    history: (key, limits) => readHistory(context, key, limits),
    takeDue: (limit, retryAfterMs) => takeDue(context, limit, retryAfterMs),
  };
}

type HistoryLimits = Parameters<TurnStore['history']>[1];

async function readHistory(context: StoreContext, key: SessionKey, limits: HistoryLimits): Promise<readonly Message[]> {
  const newestFirst = await readOfSession(context.records, key, () => newestMessages(context, key, limits));
  return decodeRecords<Message>(context.texts, sessionId(key), newestFirst?.reverse() ?? []);
}

/** Reads backwards, and no further than a batch beyond what it answers. */
async function newestMessages(
  { records }: StoreContext,
  key: SessionKey,
  { maxMessages, maxChars }: HistoryLimits,
): Promise<RecordDocument[]> {
  const cursor = records
    .find({ session: sessionId(key), kind: 'message' })
    .sort({ seq: -1 })
    .limit(maxMessages)
    .batchSize(HISTORY_BATCH)
    .lean()
    .cursor();
  const newestFirst: RecordDocument[] = [];
  let chars = 0;
  for await (const message of cursor) {
    if (newestFirst.length > 0) chars += message.chars ?? 0;
    if (chars > maxChars) break;
    newestFirst.push(message);
  }
  return newestFirst;
}

/** Looks for due sessions, and takes each by a write that only one of many sweepers gets through. */
async function takeDue(context: StoreContext, limit: number, retryAfterMs: number): Promise<readonly DueSession[]> {
  const now = context.clock.now();
  const taken: DueSession[] = [];
  while (taken.length < limit) {
    const due = await context.records
      .find({ sweepAt: { $lte: now } }, { json: 0, redo: 0 })
      .sort({ sweepAt: 1 })
      .limit(limit - taken.length)
      .lean();
    if (due.length === 0) break;
    const mine = await Promise.all(due.map((session) => takeSession(context, session, now + retryAfterMs)));
    taken.push(...mine.filter((session) => session !== null));
  }
  return taken;
}

/** Null: another took it meanwhile, or it is deleted. */
async function takeSession(
  context: StoreContext,
  { _id, kind, tenantId, id, activeTurnId, sweepAt = 0 }: RecordDocument,
  next: number,
): Promise<DueSession | null> {
  const { modifiedCount } = await context.records.updateOne({ _id, sweepAt }, { $set: { sweepAt: next } });
  if (modifiedCount === 0) return null;
  if (kind === 'deleted') await purgeDeleted(context, _id);
  if (tenantId === undefined || id === undefined) return null;
  return { tenantId, sessionId: id, turnId: activeTurnId ?? null };
}
