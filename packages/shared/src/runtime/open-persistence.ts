import type { Database } from '../adapters/sqlite/database.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { EventBus } from '../ports/event-bus.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Logger } from '../ports/logger.ts';
import type { Store } from '../ports/store.ts';
import type { Configuration } from './config.ts';

export interface Persistence {
  readonly store: Store;
  readonly queue: JobQueue;
  readonly bus: EventBus;
  /** To be called when nothing uses them any more. */
  close(): Promise<void>;
}

interface Surroundings {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
}

/** How what was opened is closed again, in the order of the opening. */
type Closing = (() => unknown)[];

interface Opening {
  readonly configuration: Configuration;
  readonly around: Surroundings;
  readonly closing: Closing;
  /** The file under `DATA_DIR`, for whatever has no server of its own. */
  readonly openFile: () => Promise<Database>;
}

/**
 * Opens store, queue and bus, each on the server that its own variable names, or else in one SQLite file. Adapters are
 * loaded where they are used only: a driver costs more of a start than everything else. Throws `unavailable`.
 */
export async function openPersistence(configuration: Configuration, around: Surroundings): Promise<Persistence> {
  const closing: Closing = [];
  async function close(): Promise<void> {
    for (const end of closing.splice(0).reverse()) await end();
  }
  let file: Promise<Database> | null = null;
  const openFile = () => {
    file ??= openDatabaseFile(configuration, closing);
    return file;
  };
  const opening: Opening = { configuration, around, closing, openFile };
  try {
    // The bus before the queue, so that on the way out nobody is woken who could no longer tell of anything.
    const store = await openStore(opening);
    const bus = await openBus(opening);
    const queue = await openQueue(opening);
    return { store, queue, bus, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openDatabaseFile({ dataDir }: Configuration, closing: Closing): Promise<Database> {
  const { openDatabase } = await import('../adapters/sqlite/database.ts');
  const { allMigrations } = await import('../adapters/sqlite/migrations/all-migrations.ts');
  const database = openDatabase(dataDir, allMigrations);
  closing.push(() => database.close());
  return database;
}

async function openStore({ configuration, around, closing, openFile }: Opening): Promise<Store> {
  const { clock, log } = around;
  if (configuration.mongodbUrl !== null) {
    const { createMongoStore } = await import('../adapters/mongoose/store.ts');
    const store = await createMongoStore({ url: configuration.mongodbUrl, log });
    closing.push(() => store.close());
    return store;
  }
  const { createSqliteStore } = await import('../adapters/sqlite/store.ts');
  return createSqliteStore({ database: await openFile(), clock });
}

async function openBus({ configuration, around, closing, openFile }: Opening): Promise<EventBus> {
  const { clock, log } = around;
  const { natsUrl, namespace, eventRetentionMs } = configuration;
  let bus: EventBus;
  if (natsUrl !== null) {
    const { createNatsBus } = await import('../adapters/nats/event-bus.ts');
    bus = await createNatsBus({ url: natsUrl, prefix: namespace, retentionMs: eventRetentionMs, clock, log });
  } else {
    const { createInProcessBus } = await import('../adapters/in-process/event-bus.ts');
    const { createSqliteEventLog } = await import('../adapters/sqlite/event-log.ts');
    bus = createInProcessBus({ log: createSqliteEventLog(await openFile()), clock, logger: log });
  }
  closing.push(() => bus.close());
  return bus;
}

async function openQueue({ configuration, around, closing, openFile }: Opening): Promise<JobQueue> {
  const { clock, ids, log } = around;
  const { redisUrl, namespace, tenantMaxRunning, tenantWeights } = configuration;
  const fairShare = { maxRunning: tenantMaxRunning, weightOf: (tenantId: string) => tenantWeights.get(tenantId) ?? 1 };
  let queue: JobQueue;
  if (redisUrl !== null) {
    const { createBullMqQueue } = await import('../adapters/bullmq/job-queue.ts');
    queue = createBullMqQueue({ url: redisUrl, prefix: namespace, clock, log, fairShare });
  } else {
    const { createSqliteJobQueue } = await import('../adapters/sqlite/job-queue.ts');
    queue = createSqliteJobQueue({ database: await openFile(), clock, ids, log, fairShare });
  }
  closing.push(() => queue.close());
  return queue;
}
