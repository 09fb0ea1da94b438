import { createHash } from 'node:crypto';
import { type Connection, type Model, type mongo, Schema } from 'mongoose';

/** The largest piece of a text in one document, in bytes; a document may have 16 MB. */
const PIECE_BYTES = 4_000_000;

interface TextPiece {
  _id: string;
  owner: string;
  bytes: Buffer | mongo.Binary;
}

const schema = new Schema<TextPiece>(
  { _id: { type: String, required: true }, owner: String, bytes: Buffer },
  { collection: 'texts', versionKey: false, id: false, strict: 'throw', strictQuery: 'throw' },
);
schema.index({ owner: 1 });

/**
 * Long strings of a session's records, such as tool results of many megabytes. They are named by their content and
 * never changed, so a text is stored once, however many records have it, and may be written before the write that
 * refers to it: should that never come, nothing refers to it, and it goes with the session.
 */
export interface Texts {
  /** Stores texts of a session; answers nothing, since their names follow from them. */
  put(owner: string, texts: Iterable<LongText>): Promise<void>;
  /** The texts with these names. */
  get(owner: string, names: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  deleteAll(owner: string): Promise<void>;
  createIndexes(): Promise<void>;
}

export interface LongText {
  /** Hash and number of pieces. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** As JSON, since UTF-8 alone would change a lone surrogate. */
export function longText(text: string): LongText {
  const bytes = Buffer.from(JSON.stringify(text));
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { name: `${hash}-${Math.ceil(bytes.length / PIECE_BYTES)}`, bytes };
}

export function openTexts(connection: Connection): Texts {
  const pieces: Model<TextPiece> = connection.model<TextPiece, Model<TextPiece>>('Text', schema);
  return {
    async put(owner, texts) {
      const writes = [...texts].flatMap(({ name, bytes }) =>
        pieceIds(owner, name).map((id, i) => ({
          updateOne: {
            filter: { _id: id },
            update: { $setOnInsert: { owner, bytes: bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES) } },
            upsert: true,
          },
        })),
      );
      if (writes.length > 0) await pieces.bulkWrite(writes);
    },
    async get(owner, names) {
      const ids = new Map([...new Set(names)].map((name) => [name, pieceIds(owner, name)]));
      if (ids.size === 0) return new Map();
      const found = await pieces.find({ _id: { $in: [...ids.values()].flat() } }).lean();
      const bytesOf = new Map(found.map(({ _id, bytes }) => [_id, Buffer.isBuffer(bytes) ? bytes : bytes.buffer]));
      return new Map([...ids].map(([name, parts]) => [name, join(parts.map((id) => bytesOf.get(id)))]));
    },
    async deleteAll(owner) {
      await pieces.deleteMany({ owner });
    },
    createIndexes: () => pieces.createIndexes(),
  };
}

function pieceIds(owner: string, name: string): string[] {
  const count = Number(name.slice(name.lastIndexOf('-') + 1));
  return Array.from({ length: count }, (_, i) => `${owner}/${name}/${i}`);
}

function join(parts: readonly (Uint8Array | undefined)[]): string {
  const bytes = Buffer.concat(parts.filter((part) => part !== undefined));
  const text: unknown = JSON.parse(bytes.toString());
  if (typeof text !== 'string') throw new Error('What is stored as a text is none.');
  return text;
}
