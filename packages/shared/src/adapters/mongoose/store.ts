import type { Connection, ConnectOptions } from 'mongoose';
import type { HttpTool, McpServer } from '../../domain/registration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Store } from '../../ports/store.ts';
import { agentRevisionsOf, createAgents } from './agents.ts';
import { createBulk } from './bulk.ts';
import { type Deployment, deploymentOf, openConnection } from './connection.ts';
import { createExtractions } from './extractions.ts';
import { createGate } from './gate.ts';
import { pruneAnswers } from './idempotency.ts';
import { inLine } from './line.ts';
import { createMemories } from './memories.ts';
import { mongoFailure } from './mongo-failure.ts';
import { createOrderedWrites } from './ordered-writes.ts';
import { recordsOf } from './records.ts';
import { createRegistrations, registrationsOf } from './registrations.ts';
import { openServerClock } from './server-clock.ts';
import { createSessions } from './sessions.ts';
import type { StoreContext } from './store-context.ts';
import { openTexts } from './texts.ts';
import { createTransactions } from './transactions.ts';
import { createTurns } from './turns.ts';
import { createUpdateSession } from './update-session.ts';

export interface MongoStoreOptions {
  /** `mongodb://` or `mongodb+srv://`; without a database in it, `turnwire`. */
  readonly url: string;
  readonly log: Logger;
  /** Judges leases and expiries instead of the server's clock; for tests. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Instead of what fits the deployment; for tests. */
  readonly transactions?: boolean;
  /** Further settings of the driver. */
  readonly driver?: ConnectOptions;
}

/** The store of the distributed profile: any number of processes on one MongoDB. Throws `unavailable`. */
export async function createMongoStore(options: MongoStoreOptions): Promise<Store> {
  return openMongoStore(await openConnection(options.url, options.driver), options);
}

/** The same on a connection into which the caller wants to look. Closing the store closes it. */
export async function openMongoStore(
  connection: Connection,
  options: Omit<MongoStoreOptions, 'url' | 'driver'>,
): Promise<Store> {
  try {
    const deployment = await deploymentOf(connection);
    const store = await storeOver(connection, { ...deployment, ...options });
    options.log.info({ kind: store.kind, database: connection.name }, 'The store is open.');
    return store;
  } catch (error) {
    await connection.close(true);
    throw mongoFailure(error);
  }
}

type OpenOptions = Pick<MongoStoreOptions, 'log' | 'clock'> & Deployment;

async function storeOver(connection: Connection, options: OpenOptions): Promise<Store> {
  const { log, replicated, transactions, wireVersion } = options;
  const records = recordsOf(connection, replicated ? 'majority' : 'local');
  const texts = openTexts(connection);
  const documents = registrationsOf(connection);
  const revisions = agentRevisionsOf(connection);
  await Promise.all([records, texts, documents, revisions].map((collection) => collection.createIndexes()));
  const serverClock = await openServerClock(connection);
  const clock = options.clock ?? serverClock;
  const repeatedly = transactions
    ? createTransactions(connection, createBulk(connection, records, wireVersion))
    : createOrderedWrites(records, log);
  const context: StoreContext = { records, texts, atomically: inLine(repeatedly), clock, log };
  const gate = createGate();
  return {
    kind: `mongodb (${transactions ? 'transactions' : 'ordered writes'})`,
    agents: gate.guard(createAgents({ documents, revisions, clock })),
    tools: gate.guard(createRegistrations<HttpTool>(documents, clock, 'tool')),
    mcpServers: gate.guard(createRegistrations<McpServer>(documents, clock, 'mcp_server')),
    sessions: gate.guard(createSessions(context, createUpdateSession(context))),
    turns: gate.guard(createTurns(context, createUpdateSession(context))),
    memories: gate.guard(createMemories(context)),
    extractions: gate.guard(createExtractions(context)),
    ...gate.guard({
      ping: async () => void (await connection.getClient().db('admin').command({ ping: 1 })),
      prune: (limit: number) => pruneAnswers(context, limit),
    }),
    async close() {
      gate.close();
      serverClock.close();
      await connection.close();
    },
  };
}
