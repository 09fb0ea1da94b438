import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { IdempotencyKey, Replayable } from '../../ports/session-store.ts';
import type { Database } from './database.ts';

const KEPT_MS = 24 * 60 * 60 * 1000;

export interface Idempotency {
  /**
   * Runs `write` in a transaction, unless the key was used before: then answers what it answered. Writes are
   * synchronous here, so none is ever found in flight. An answer outlives the session that it speaks of: a client that
   * repeats its POST must not make a second one.
   */
  once<R>(tenantId: string, idempotency: IdempotencyKey | null, write: () => R): Replayable<R>;
  prune(limit: number): number;
}

export function createIdempotency(db: Database, clock: Clock): Idempotency {
  return {
    once: (tenantId, idempotency, write) =>
      db.transaction(() => {
        if (idempotency === null) return { value: write(), replayed: false };
        const { key, fingerprint } = idempotency;
        const now = clock.now();
        const first = db.get(
          'SELECT fingerprint, answer FROM idempotency_keys WHERE tenant_id = ? AND key = ? AND expires_at > ?',
          ...[tenantId, key, now],
        );
        if (first !== undefined) {
          if (first.fingerprint !== fingerprint) throw mismatch();
          return { value: JSON.parse(String(first.answer)), replayed: true };
        }
        const value = write();
        db.run(
          `INSERT OR REPLACE INTO idempotency_keys (tenant_id, key, fingerprint, expires_at, answer)
           VALUES (?, ?, ?, ?, ?)`,
          ...[tenantId, key, fingerprint, now + KEPT_MS, JSON.stringify(value)],
        );
        return { value, replayed: false };
      }),
    prune: (limit) =>
      db.run(
        `DELETE FROM idempotency_keys WHERE rowid IN
           (SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
        ...[clock.now(), limit],
      ),
  };
}

function mismatch(): AppError {
  return new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another request.');
}
