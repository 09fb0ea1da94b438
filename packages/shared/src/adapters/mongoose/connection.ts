import { type Connection, type ConnectOptions, createConnection } from 'mongoose';
import { unavailable } from '../../domain/errors.ts';

/** A server that is away is noticed within this time, so that callers answer 503 instead of hanging. */
const SERVER_SELECTION_MS = 2_000;

/** A server that took a command and is silent: longer than any command of ours, shorter than people wait. */
const SOCKET_MS = 10_000;

/**
 * Connects, and keeps connecting: after an outage the driver finds the servers again by itself. What was promised is on
 * the disks of a majority, and everything is read from the primary. Throws `unavailable`.
 */
export async function openConnection(url: string, options: ConnectOptions = {}): Promise<Connection> {
  const connection = createConnection(url, {
    ...(namesDatabase(url) ? {} : { dbName: 'turnwire' }),
    appName: 'turnwire',
    autoIndex: false, // made once, and awaited, by `openCollections`
    autoCreate: false,
    bufferCommands: false, // a command without a connection fails at once
    serverSelectionTimeoutMS: SERVER_SELECTION_MS,
    connectTimeoutMS: SERVER_SELECTION_MS,
    waitQueueTimeoutMS: SERVER_SELECTION_MS,
    socketTimeoutMS: SOCKET_MS,
    readPreference: 'primary',
    writeConcern: { w: 'majority', journal: true },
    ...options,
  });
  try {
    return await connection.asPromise();
  } catch (error) {
    await connection.close(true).catch(() => undefined);
    throw unavailable('The store', error);
  }
}

/** Not by `URL`: a connection string may name several hosts. */
function namesDatabase(url: string): boolean {
  return /^[^:]+:\/\/[^/]+\/[^?]/.test(url);
}

export interface Deployment {
  /** Whether it is a replica set or a sharded cluster. */
  readonly replicated: boolean;
  /** Whether transactions are to be used, see {@link MAX_STUCK_SECONDS}. */
  readonly transactions: boolean;
  /** What the protocol can, by its `maxWireVersion`. */
  readonly wireVersion: number;
}

export async function deploymentOf(connection: Connection): Promise<Deployment> {
  const hello = await connection.getClient().db('admin').command({ hello: 1 });
  const replicated = typeof hello.setName === 'string' || hello.msg === 'isdbgrid';
  const transactions = replicated && (await transactionLifetime(connection)) <= MAX_STUCK_SECONDS;
  return { replicated, transactions, wireVersion: Number(hello.maxWireVersion ?? 0) };
}

/**
 * A transaction whose client is killed between its writes and its commit keeps its documents locked until the server
 * ends it, by default after 60 s: much longer than anybody waits for a turn to be taken over. With ordered writes nothing
 * is ever locked. So transactions are for deployments that end dead ones early (`transactionLifetimeLimitSeconds`).
 */
const MAX_STUCK_SECONDS = 10;

async function transactionLifetime(connection: Connection): Promise<number> {
  const name = 'transactionLifetimeLimitSeconds';
  try {
    const answer = await connection
      .getClient()
      .db('admin')
      .command({ getParameter: 1, [name]: 1 });
    return typeof answer[name] === 'number' ? answer[name] : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY; // not everybody may ask
  }
}
