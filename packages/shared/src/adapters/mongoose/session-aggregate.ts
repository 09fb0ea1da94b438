import type { SessionAggregate, SessionChange } from '../../domain/aggregate.ts';
import type { Message } from '../../domain/message.ts';
import type { Session } from '../../domain/session.ts';
import type { SessionKey } from '../../domain/tenant.ts';
import type { ToolCall } from '../../domain/tool-call.ts';
import { isTerminalStatus, type Turn } from '../../domain/turn.ts';
import type { Attempt, FieldChange, RecordChange, RootChange } from './atomic-write.ts';
import { finishWrite } from './ordered-writes.ts';
import { decodeRecords, encodeRecords, type RecordJson } from './record-json.ts';
import { callId, messageId, sessionId, turnId, userId } from './record-key.ts';
import type { RecordDocument, Records } from './records.ts';
import { Conflict } from './retry.ts';
import type { LongText, Texts } from './texts.ts';

export interface LoadedAggregate {
  /** Null: the tenant has no such session. */
  readonly aggregate: SessionAggregate | null;
  readonly version: number;
  /** What a write with the same key answered, also if that was long ago. */
  readonly write: RecordDocument | null;
}

/**
 * Reads what a decision may look at, with what the Idempotency-Key was used for, in one query. In the order of its index
 * the session comes first and the key last, so that without transactions the rest is never older than the session.
 */
export async function loadAggregate(
  { records, texts }: { readonly records: Records; readonly texts: Texts },
  { session }: Attempt,
  key: SessionKey,
  write: string | null,
): Promise<LoadedAggregate> {
  const id = sessionId(key);
  const found = await records
    .find({ open: { $in: write === null ? [id] : [id, write] } })
    .sort({ open: 1, rank: 1 })
    .session(session)
    .lean();
  const root = found.find(({ _id }) => _id === id);
  const used = found.find(({ _id }) => _id === write) ?? null;
  if (root === undefined) return { aggregate: null, version: 0, write: used };
  if (root.redo !== undefined) {
    await finishWrite(records, root);
    throw new Conflict(id); // what was read with it may be old
  }
  const turns = found.filter(({ kind }) => kind === 'turn');
  const calls = found.filter(({ kind }) => kind === 'call');
  const decoded = await decodeRecords<unknown>(texts, id, [root, ...turns, ...calls]);
  const aggregate: SessionAggregate = {
    session: decoded[0] as Session,
    turns: decoded.slice(1, 1 + turns.length) as Turn[],
    toolCalls: decoded.slice(1 + turns.length) as ToolCall[],
  };
  return { aggregate, version: root.version, write: used };
}

/** A turn as it is now: an extraction that was settled since is not in its JSON. */
export async function turnOf(texts: Texts, document: RecordDocument): Promise<Turn> {
  const [turn] = await decodeRecords<Turn>(texts, document.session ?? '', [document]);
  if (turn === undefined) throw new Error(`Turn ${document._id} has no record.`);
  return document.extraction === undefined ? turn : { ...turn, extraction: document.extraction };
}

/** A decision's change as writes, and the long texts to store before them. */
export function writesOf(
  { session, turns, toolCalls }: SessionAggregate,
  change: SessionChange,
  version: number,
): { readonly root: RootChange; readonly changes: readonly RecordChange[]; readonly texts: readonly LongText[] } {
  const key = { tenantId: session.tenantId, sessionId: session.id };
  const records = [change.session, ...change.turns, ...change.toolCalls, ...change.messages];
  const { encoded, texts } = encodeRecords(records);
  const json = encoded.values();
  const next = (): RecordJson => json.next().value ?? { json: 'null' };
  const root = { id: sessionId(key), version, ...sessionFields(change.session, session.dueAt, next()) };
  const put = (isKnown: boolean, id: string, fields: FieldChange): RecordChange => ({
    kind: isKnown ? 'put' : 'add',
    id,
    version: version + 1,
    ...fields,
  });
  const ended = change.turns.filter(({ status }) => isTerminalStatus(status));
  const hasCalls = toolCalls.length + change.toolCalls.length > 0;
  return {
    root,
    changes: [
      ...change.turns.map((turn) =>
        put(
          turns.some(({ id }) => id === turn.id),
          turnId(turn.tenantId, turn.id),
          turnFields(key, turn, next()),
        ),
      ),
      ...change.toolCalls.map((call) =>
        put(
          toolCalls.some(({ id }) => id === call.id),
          callId(key.tenantId, call.turnId, call.step, call.position),
          callFields(key, call, next()),
        ),
      ),
      ...change.messages.map((message) => put(false, messageId(key, message.seq), messageFields(key, message, next()))),
      // No decision looks at the calls of a turn that has ended.
      ...ended
        .filter(({ id }) => hasCalls && id === turns[0]?.id)
        .map(
          ({ id }): RecordChange => ({
            kind: 'each',
            where: { fields: { turn: turnId(key.tenantId, id), kind: 'call' } },
            set: {},
            unset: ['open', 'rank'],
          }),
        ),
      ...change.rolledBack.map(
        (id): RecordChange => ({
          kind: 'each',
          where: { fields: { turn: turnId(key.tenantId, id), kind: 'message' } },
          set: { kind: 'removed' },
          unset: ['json', 'texts', 'chars'],
        }),
      ),
    ],
    texts,
  };
}

/** `dueBefore`: an unchanged dueAt keeps its place in the sweep, where `takeDue` may have put it off. */
function sessionFields(session: Session, dueBefore: number | null, json: RecordJson): FieldChange {
  const { state, activeTurnId, dueAt } = session;
  return {
    set: { ...json, state, activeTurnId, ...(dueAt !== null && dueAt !== dueBefore && { sweepAt: dueAt }) },
    unset: [...withoutTexts(json), ...(dueAt === null && dueBefore !== null ? (['sweepAt'] as const) : [])],
  };
}

/** Of a session that is new. */
export function newSessionFields(session: Session): FieldChange {
  const { tenantId, id, createdAt } = session;
  const key = sessionId({ tenantId, sessionId: id });
  const json = { json: JSON.stringify(session) };
  const { set } = sessionFields(session, null, json);
  return { set: { ...set, kind: 'session', open: key, rank: 0, tenantId, id, createdAt, user: userId(session) } };
}

function turnFields(key: SessionKey, turn: Turn, json: RecordJson): FieldChange {
  const { number, createdAt, extraction, finishedAt } = turn;
  const session = sessionId(key);
  const set = { ...json, kind: 'turn', session, seq: number, id: turn.id, createdAt } as const;
  if (!isTerminalStatus(turn.status)) {
    return { set: { ...set, open: session, rank: number }, unset: withoutTexts(json) };
  }
  const owing = extraction === 'pending' && finishedAt !== null ? { owedBy: userId(turn), finishedAt, extraction } : {};
  return { set: { ...set, ...owing }, unset: [...withoutTexts(json), 'open', 'rank'] };
}

/** After all turns: a session has less of them. */
const CALLS_FROM = 1e9;
const CALLS_PER_STEP = 1e4;

function callFields(key: SessionKey, call: ToolCall, json: RecordJson): FieldChange {
  const session = sessionId(key);
  const seq = call.step * CALLS_PER_STEP + call.position;
  const place = { session, turn: turnId(key.tenantId, call.turnId), seq, open: session, rank: CALLS_FROM + seq };
  return { set: { ...json, kind: 'call', ...place }, unset: withoutTexts(json) };
}

function messageFields(key: SessionKey, message: Message, json: RecordJson): FieldChange {
  const place = { session: sessionId(key), turn: turnId(key.tenantId, message.turnId), seq: message.seq };
  return { set: { ...json, kind: 'message', ...place, chars: message.content.length } };
}

function withoutTexts({ texts }: RecordJson): readonly ['texts'] | readonly [] {
  return texts === undefined ? ['texts'] : [];
}
