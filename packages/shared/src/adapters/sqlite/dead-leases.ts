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
      const session = recordOf<Session>(row);
      const { lease } = session;
      // Not later than it was to end: time between the crash and this start is nobody's leased time. Not later than
      // now either, should the machine's clock have been set back.
      const expiresAt = Math.min(lease.expiresAt, now);
      const expired = { ...lease, claimedAt: Math.min(lease.claimedAt, expiresAt), expiresAt };
      const doc = JSON.stringify({ ...session, lease: expired, dueAt: expiresAt } satisfies Session);
      db.run('UPDATE sessions SET sweep_at = ?, doc = ? WHERE pk = ?', expiresAt, doc, Number(row.pk));
    }
  });
}
