import { type Connection, type Model, Schema } from 'mongoose';
import type { SessionState } from '../../domain/session.ts';
import type { Turn } from '../../domain/turn.ts';

/**
 * Everything that is written together lives in one collection, so that one command reads what a decision needs and one
 * writes what it changes: three round trips with the commit, where a collection for each kind takes six.
 *
 * Each record belongs to a root: a session, or a user's memories. Whoever changes anything of a root raises its
 * `version` by one, in the same atomic write; records carry the version that wrote them. What a query looks for stands
 * in fields; the record itself is JSON text (`json`), since users' and models' JSON may hold what BSON refuses or
 * changes: keys with `\0`, `_bsontype`, lone surrogates, a hundred levels.
 *
 * - `session`, `turn`, `call`, `message`; `removed`: a message that was rolled back; `deleted`: what keeps the place of a
 *   deleted record for a while, so that a late repetition of an older write cannot bring it back
 * - `user`: the root of a user's memories; `memory`; `tombstone`: the text of one that was taken back
 * - `write`: what a write with an Idempotency-Key answered
 */
export type RecordKind =
  | 'session'
  | 'turn'
  | 'call'
  | 'message'
  | 'removed'
  | 'deleted'
  | 'user'
  | 'memory'
  | 'tombstone'
  | 'write';

export interface RecordFields {
  kind: RecordKind;
  json: string;
  /** Strings of the record that are kept beside it (`texts.ts`). */
  texts: readonly string[];
  /** The root whose decisions read this record; not set on what they do not look at any more. With its rank therein. */
  open: string;
  rank: number;
  /** Of turns, calls, messages: ids of their session and (calls, messages) turn, and their order. */
  session: string;
  turn: string;
  seq: number;
  /** Length of a message's content. */
  chars: number;
  /** Of sessions, memories, tombstones. */
  user: string;
  tenantId: string;
  id: string;
  createdAt: number;
  /** Of sessions. */
  state: SessionState;
  activeTurnId: string | null;
  /** `dueAt`, put off by whoever took it last. */
  sweepAt: number;
  /** Of completed turns: where their extraction stands, and, while it is pending, whose memories it owes. */
  extraction: Turn['extraction'];
  owedBy: string;
  finishedAt: number;
  /** Of memories. */
  validTo: number | null;
  /** Of users: when all was erased; when to look for pending extractions; when one was added last. */
  erasedAt: number;
  extractAt: number;
  owedSince: number;
  /** Of tombstones. */
  text: string;
  /** Of writes. */
  fingerprint: string;
  /** The server removes it some time after that. */
  expiresAt: Date;
  /** Of roots, without transactions: the rest of the write that set this version (`ordered-writes.ts`). */
  redo: string;
}

/** Values of some fields. */
export type FieldValues = { readonly [F in keyof RecordFields]?: RecordFields[F] };

export type RecordDocument = { _id: string; version: number } & Partial<RecordFields>;

export const RECORD = 'Record';

export type Records = Model<RecordDocument>;

const schema = new Schema<RecordDocument>(
  {
    _id: { type: String, required: true },
    version: Number,
    kind: String,
    json: String,
    texts: { type: [String], default: undefined },
    open: String,
    rank: Number,
    session: String,
    turn: String,
    seq: Number,
    chars: Number,
    user: String,
    tenantId: String,
    id: String,
    createdAt: Number,
    state: String,
    activeTurnId: String,
    sweepAt: Number,
    extraction: String,
    owedBy: String,
    finishedAt: Number,
    validTo: Number,
    erasedAt: Number,
    extractAt: Number,
    owedSince: Number,
    text: String,
    fingerprint: String,
    expiresAt: Date,
    redo: String,
  },
  // A field that is not named above is a mistake, not something to leave out in silence.
  { collection: 'records', versionKey: false, id: false, strict: 'throw', strictQuery: 'throw' },
);

// A message, of which there are many, stands in three of them (and under its id); an open turn or call in two more.
schema.index({ open: 1, rank: 1 }, { sparse: true });
schema.index({ session: 1, kind: 1, seq: 1 }, having('session'));
schema.index({ turn: 1, kind: 1, seq: 1 }, having('turn'));
schema.index({ tenantId: 1, createdAt: 1, id: 1 }, having('tenantId'));
schema.index({ tenantId: 1, state: 1, createdAt: 1, id: 1 }, having('state'));
schema.index({ user: 1, kind: 1, createdAt: 1, id: 1 }, having('user'));
schema.index({ sweepAt: 1 }, { sparse: true });
schema.index({ owedBy: 1, finishedAt: 1, id: 1 }, having('owedBy'));
schema.index({ extractAt: 1 }, { sparse: true });
schema.index({ expiresAt: 1 }, { sparse: true, expireAfterSeconds: 0 });

function having(field: keyof RecordFields) {
  return { partialFilterExpression: { [field]: { $exists: true } } };
}

export function recordsOf(connection: Connection, readConcern: 'majority' | 'local'): Records {
  return connection.model<RecordDocument, Records>(RECORD, schema.clone().set('readConcern', { level: readConcern }));
}
