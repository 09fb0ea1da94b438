import type { Message } from '../../domain/message.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import { type NewSession, newSession, type Session } from '../../domain/session.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { ToolCall } from '../../domain/tool-call.ts';
import type { Turn } from '../../domain/turn.ts';
import type { IdempotencyKey, Replayable, SessionQuery, SessionStore } from '../../ports/session-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import { decidedSessions, type UpdateSession } from '../decided-store.ts';
import { deleteSession } from './delete-session.ts';
import { answerFields, firstAnswer, writeIdOf } from './idempotency.ts';
import { beforeKey } from './newest-first.ts';
import { finishWrite } from './ordered-writes.ts';
import { decodeRecords } from './record-json.ts';
import { sessionId, turnId, userId } from './record-key.ts';
import type { RecordDocument } from './records.ts';
import { newSessionFields, turnOf } from './session-aggregate.ts';
import { readOfSession, readOfTurn } from './settled-records.ts';
import type { StoreContext } from './store-context.ts';

export function createSessions(context: StoreContext, update: UpdateSession): SessionStore {
  const { records } = context;
  return {
    ...decidedSessions(update),
    create: (input, key) => createSession(context, input, key),
    async get(key) {
      const root = await records.findOne({ _id: sessionId(key), kind: 'session' }).lean();
      return root === null ? null : sessionOf(context, root);
    },
    list: (query) => listSessions(context, query),
    delete: (key) => deleteSession(context, key),
    messages: (key, page) => listMessages(context, key, page),
    turn: (tenantId, id) => findTurn(context, tenantId, id),
    toolCalls: (tenantId, id) => listToolCalls(context, tenantId, id),
  };
}

async function createSession(
  context: StoreContext,
  input: NewSession,
  key: IdempotencyKey | null,
): Promise<Replayable<Session>> {
  const { records, clock, atomically } = context;
  const id = sessionId({ tenantId: input.tenantId, sessionId: input.id });
  const write = writeIdOf(input.tenantId, key);
  if (write === null || key === null) {
    const session = newSession(input, clock.now());
    await records.insertMany([{ ...newSessionFields(session).set, _id: id, version: 1 }]);
    return { value: session, replayed: false };
  }
  return atomically(write, async (attempt) => {
    const now = clock.now();
    const used = await records.findOne({ _id: write }).session(attempt.session).lean();
    if (used !== null) await finishWrite(records, used); // the session that it answered with
    const keyed = { id: write, fingerprint: key.fingerprint, used };
    const first = firstAnswer<Session>(keyed, now);
    if (first !== null) return { value: first.value, replayed: true };
    const session = newSession(input, now);
    // The key is the root here: of two POSTs with the same one, each would make a session of its own.
    const root = { id: write, version: used?.version ?? 0, ...answerFields(keyed, session, now) };
    await attempt.commit(root, [{ kind: 'add', id, version: 1, ...newSessionFields(session) }]);
    return { value: session, replayed: false };
  });
}

async function sessionOf({ texts }: StoreContext, root: RecordDocument): Promise<Session | null> {
  const [session] = await decodeRecords<Session>(texts, root._id, [root]);
  return session ?? null;
}

async function listSessions(context: StoreContext, query: SessionQuery): Promise<Page<Session>> {
  const { tenantId, userId: user, state, limit } = query;
  const after = decodeCursor(query.cursor, ['number', 'string']);
  const found = await context.records
    .find({
      // A user has few sessions: their index finds them, and the state only picks among them.
      ...(user === null ? { tenantId } : { user: userId({ tenantId, userId: user }), kind: 'session' }),
      ...(state !== null && { state }),
      ...(after !== null && beforeKey(after)),
    })
    .sort({ createdAt: -1, id: -1 })
    .limit(limit + 1)
    .lean();
  const sessions = await Promise.all(found.map((root) => sessionOf(context, root)));
  return pageOf(
    sessions.filter((session) => session !== null),
    limit,
    (session) => [session.createdAt, session.id],
  );
}

async function listMessages(
  context: StoreContext,
  key: SessionKey,
  { limit, cursor }: PageQuery,
): Promise<Page<Message> | null> {
  const [after] = decodeCursor(cursor, ['number']) ?? [0];
  const id = sessionId(key);
  const found = await readOfSession(context.records, key, () =>
    context.records
      .find({ session: id, kind: 'message', seq: { $gt: after } })
      .sort({ seq: 1 })
      .limit(limit + 1)
      .lean(),
  );
  if (found === null) return null;
  const messages = await decodeRecords<Message>(context.texts, id, found);
  return pageOf(messages, limit, ({ seq }) => [seq]);
}

async function findTurn({ records, texts }: StoreContext, tenantId: string, id: string): Promise<Turn | null> {
  const read = await readOfTurn(records, tenantId, id, async () => null);
  return read === null ? null : turnOf(texts, read.turn);
}

async function listToolCalls(
  { records, texts }: StoreContext,
  tenantId: string,
  id: string,
): Promise<readonly ToolCall[]> {
  const ofTurn = { turn: turnId(tenantId, id), kind: 'call' } as const;
  const read = await readOfTurn(records, tenantId, id, () => records.find(ofTurn).sort({ seq: 1 }).lean());
  return read === null ? [] : decodeRecords<ToolCall>(texts, read.turn.session ?? '', read.found);
}
