import { AppError } from '../../domain/errors.ts';
import type { IdempotencyKey } from '../../ports/session-store.ts';
import type { FieldChange, RecordChange } from './atomic-write.ts';
import { recordOf } from './record-json.ts';
import { writeId } from './record-key.ts';
import type { RecordDocument } from './records.ts';
import type { StoreContext } from './store-context.ts';

const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * A write with an Idempotency-Key, on its way. Its answer is stored by the write itself, and outlives the session that
 * it speaks of: a client that repeats its POST must not make a second one.
 */
export interface KeyedWrite {
  readonly id: string;
  readonly fingerprint: string;
  /** What the key was used for before, as it was read; it may have expired. */
  readonly used: RecordDocument | null;
}

/** Where the answer of a key is stored; null without a key. */
export function writeIdOf(tenantId: string, idempotency: IdempotencyKey | null): string | null {
  return idempotency === null ? null : writeId(tenantId, idempotency.key);
}

/** The first answer; null where the key was not used. Throws `idempotency_mismatch` for another request. */
export function firstAnswer<R>({ used, fingerprint }: KeyedWrite, now: number): { readonly value: R } | null {
  if (used === null || (used.expiresAt?.getTime() ?? 0) <= now) return null;
  if (used.fingerprint !== fingerprint) {
    throw new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another request.');
  }
  return { value: recordOf<R>(used) };
}

export function answerFields({ id, fingerprint }: KeyedWrite, answer: unknown, now: number): FieldChange {
  const expiresAt = new Date(now + KEPT_MS);
  return { set: { kind: 'write', open: id, rank: 0, fingerprint, expiresAt, json: JSON.stringify(answer) } };
}

export function answerChange(write: KeyedWrite, answer: unknown, now: number): RecordChange {
  const version = (write.used?.version ?? 0) + 1;
  return { kind: write.used === null ? 'add' : 'put', id: write.id, version, ...answerFields(write, answer, now) };
}

/** Ahead of the server, which removes them some time after they expired. */
export async function pruneAnswers({ records, clock }: StoreContext, limit: number): Promise<number> {
  const expired = { kind: 'write', expiresAt: { $lte: new Date(clock.now()) } } as const;
  const found = await records.find(expired, { _id: 1 }).sort({ expiresAt: 1 }).limit(limit).lean();
  const ids = found.map(({ _id }) => _id);
  // Once more by time: the key may have been used again.
  const { deletedCount } = await records.deleteMany({ ...expired, _id: { $in: ids } });
  return deletedCount;
}
