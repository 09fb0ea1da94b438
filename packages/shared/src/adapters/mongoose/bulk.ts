import { type ClientSession, type Connection, mongo } from 'mongoose';
import type { Operation } from './operation.ts';
import { RECORD, type RecordDocument, type Records } from './records.ts';
import { Conflict, isDuplicate } from './retry.ts';

/**
 * Sends the operations of one transaction: first its root's, the others in any order. Throws a Conflict where the root
 * was not there a moment ago and is now.
 */
export type Bulk = (operations: readonly Operation[], session: ClientSession) => Promise<void>;

/** MongoDB 8.0, which knows the command `bulkWrite`. */
const BULK_WRITE_WIRE_VERSION = 25;

/** Insertions and updates in one round trip; older servers take them by two commands. */
export function createBulk(connection: Connection, records: Records, wireVersion: number): Bulk {
  const send =
    wireVersion < BULK_WRITE_WIRE_VERSION
      ? (operations: readonly Operation[], session: ClientSession) =>
          records.bulkWrite(rootFirst(operations), { session })
      : (operations: readonly Operation[], session: ClientSession) =>
          connection.bulkWrite<Record<typeof RECORD, RecordDocument>>(operations.map(clientOperation), { session });
  return async (operations, session) => {
    try {
      await send(operations, session);
    } catch (error) {
      throw firstFailure(error);
    }
  };
}

/** The driver makes one command of neighbours of the same kind. */
function rootFirst([root, ...changes]: readonly Operation[]): Operation[] {
  const isInsertion = (operation: Operation) => 'insertOne' in operation;
  return [
    ...(root === undefined ? [] : [root]),
    ...changes.filter((change) => !isInsertion(change)),
    ...changes.filter(isInsertion),
  ];
}

function clientOperation(operation: Operation) {
  const model = RECORD;
  if ('insertOne' in operation) return { model, name: 'insertOne', ...operation.insertOne } as const;
  if ('updateOne' in operation) return { model, name: 'updateOne', ...operation.updateOne } as const;
  return { model, name: 'updateMany', ...operation.updateMany } as const;
}

/** As the server told it: the driver wraps what the whole command or one of its operations failed by. */
function firstFailure(error: unknown): unknown {
  if (error instanceof mongo.MongoBulkWriteError) {
    const [failure] = [error.writeErrors].flat();
    return failure?.index === 0 && isDuplicate(error) ? new Conflict('The root is there.', { cause: error }) : error;
  }
  if (!(error instanceof mongo.MongoClientBulkWriteError)) return error;
  for (const [place, { code, message }] of error.writeErrors) {
    const failure = new mongo.MongoServerError({ code, errmsg: message });
    return place === 0 && isDuplicate(failure) ? new Conflict('The root is there.', { cause: failure }) : failure;
  }
  return error.cause instanceof mongo.MongoServerError ? error.cause : error;
}
