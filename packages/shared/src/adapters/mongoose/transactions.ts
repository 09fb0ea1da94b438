import { type ClientSession, type Connection, mongo } from 'mongoose';
import type { RecordChange, Repeatedly, RootChange } from './atomic-write.ts';
import type { Bulk } from './bulk.ts';
import { changeOperation } from './operation.ts';
import { retryConflicts } from './retry.ts';

const OPTIONS = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority', journal: true },
  readPreference: 'primary',
} as const;

/** How often the answer to a commit is asked for that the connection broke off. */
const COMMIT_TRIES = 3;

/** Each attempt is a transaction: it reads one moment, and of two that write the same root one is repeated. */
export function createTransactions(connection: Connection, bulk: Bulk): Repeatedly {
  return (attempt) =>
    retryConflicts(async () => {
      const session = await connection.startSession();
      try {
        session.startTransaction(OPTIONS);
        const result = await attempt({
          session,
          commit: (root, changes) => bulk([changeOfRoot(root), ...changes].map(changeOperation), session),
          confirm: async () => undefined,
        });
        await commit(session);
        return result;
      } finally {
        await session.endSession(); // and with it a transaction that was not committed
      }
    });
}

function changeOfRoot(root: RootChange): RecordChange {
  return { ...root, kind: root.version === 0 ? 'add' : 'put', version: root.version + 1 };
}

/** Whether it took effect is unknown after an error of this kind, but it may be sent again. */
async function commit(session: ClientSession): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      const unknown = error instanceof mongo.MongoError && error.hasErrorLabel(UNKNOWN);
      if (!unknown || tries === COMMIT_TRIES) throw error;
    }
  }
}

const UNKNOWN = mongo.MongoErrorLabel.UnknownTransactionCommitResult;
