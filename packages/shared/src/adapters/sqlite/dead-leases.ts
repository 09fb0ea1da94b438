import { decideExpireLease } from '../../domain/decide-lease.ts';
import type { Session } from '../../domain/session.ts';
import type { Database } from './database.ts';
import { recordOf } from './document.ts';

/**
 * Lets every lease expire. The data folder belongs to one process (`database.ts`), so whoever held a lease when the
 * file is opened is dead: recovery starts at once instead of after the rest of the lease. It remains a lease that ran
 * out, and the next claim counts as an attempt.
 */
export function expireDeadLeases(db: Database, now: number): void {
  db.transaction(() => {
    const rows = db.all(
      "SELECT pk, doc FROM sessions WHERE sweep_at IS NOT NULL AND doc ->> '$.lease.holder' IS NOT NULL",
    );
    for (const row of rows) {
      // A lease that somebody holds is all that the time of its expiry depends on: neither turns nor calls.
      const session = recordOf<Session>(row);
      const expired = decideExpireLease({ session, turns: [], toolCalls: [] }, now)?.session;
      if (expired === undefined) continue;
      db.run(
        'UPDATE sessions SET sweep_at = ?, doc = ? WHERE pk = ?',
        expired.dueAt,
        JSON.stringify(expired),
        Number(row.pk),
      );
    }
  });
}
