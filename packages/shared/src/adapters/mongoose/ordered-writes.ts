import { mongo } from 'mongoose';
import type { Logger } from '../../ports/logger.ts';
import type { RecordChange, Repeatedly, RootChange } from './atomic-write.ts';
import { type Operation, repeatableOperation, rootOperation } from './operation.ts';
import type { RecordDocument, Records } from './records.ts';
import { Conflict, DUPLICATE_KEY, isDuplicate, retryConflicts } from './retry.ts';

const { EJSON } = mongo.BSON;

/**
 * Writes of several records without transactions. The change of the root is the commit: it takes place only on the
 * version that was read, and carries the rest of the write with it (`redo`). Then that rest is carried out and taken
 * off. Whoever finds it still there carries it out first, be it that the writer died or that it is not done yet: each
 * part can be repeated by anybody at any later time without harm (see `repeatableOperation`).
 *
 * What is read is of one moment: roots are read before their records (the index of `open` is in that order), and their
 * version is looked at again by the commit, or by `confirm`.
 */
export function createOrderedWrites(records: Records, log: Logger): Repeatedly {
  return (attempt) =>
    retryConflicts(() =>
      attempt({
        session: null,
        async commit(root, changes) {
          if (!(await changeRoot(records, root, changes))) throw new Conflict(root.id);
          if (changes.length === 0) return;
          await carryOut(records, root.id, root.version + 1, changes).catch((error: unknown) => {
            log.warn(
              { err: error, root: root.id },
              'The rest of a write was put off; whoever reads it next carries it out.',
            );
          });
        },
        async confirm({ id, version }) {
          const now = await records.findOne({ _id: id }, { version: 1 }).lean();
          if ((now?.version ?? 0) !== version) throw new Conflict(id);
        },
      }),
    );
}

async function changeRoot(records: Records, root: RootChange, changes: readonly RecordChange[]): Promise<boolean> {
  const redo = changes.length === 0 ? {} : { redo: EJSON.stringify(changes) };
  const operation = rootOperation({ ...root, set: { ...root.set, ...redo } });
  try {
    const { matchedCount, insertedCount } = await records.bulkWrite([operation]);
    return matchedCount + insertedCount === 1;
  } catch (error) {
    if (isDuplicate(error)) return false; // another made it meanwhile
    throw error;
  }
}

/**
 * Carries out what a root still owes. Needs no lock: whoever else does the same does the same. Where there was
 * something, what the caller has read may be old.
 */
export async function finishWrite(records: Records, root: RecordDocument): Promise<void> {
  if (root.redo === undefined) return;
  const changes: RecordChange[] = EJSON.parse(root.redo);
  await carryOut(records, root._id, root.version, changes);
}

async function carryOut(
  records: Records,
  root: string,
  version: number,
  changes: readonly RecordChange[],
): Promise<void> {
  const operations = changes.map(repeatableOperation);
  const done: Operation = {
    updateOne: { filter: { _id: root, version }, update: { $set: {}, $unset: { redo: 1 } }, upsert: false },
  };
  try {
    await records.bulkWrite([...operations, done]); // in order: if one fails, the mark stays
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    await carryOutAgain(records, operations);
    await records.bulkWrite([done]);
  }
}

/** Somebody has done part of it: records that are there already, with this version or a later one, stay as they are. */
async function carryOutAgain(records: Records, operations: readonly Operation[]): Promise<void> {
  try {
    await records.bulkWrite([...operations], { ordered: false });
  } catch (error) {
    const failures = error instanceof mongo.MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  }
}
