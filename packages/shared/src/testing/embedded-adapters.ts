import { createInProcessBus } from '../adapters/in-process/event-bus.ts';
import { createSqliteEventLog } from '../adapters/sqlite/event-log.ts';
import { createSqliteJobQueue } from '../adapters/sqlite/job-queue.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { EventBus } from '../ports/event-bus.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Store } from '../ports/store.ts';
import { createCountingIds } from './counting-ids.ts';
import type { ManualClock } from './manual-clock.ts';
import { createRecordingLogger, type RecordingLogger } from './recording-logger.ts';
import { createRecordingMetrics, type RecordingMetrics } from './recording-metrics.ts';
import { makeSqliteStore } from './sqlite-store.ts';

/** The adapters of the embedded profile in a folder of their own, under a manual clock. */
export interface EmbeddedAdapters {
  readonly store: Store;
  readonly queue: JobQueue;
  readonly bus: EventBus;
  readonly eventLog: EventLog;
  readonly clock: ManualClock;
  readonly ids: Ids;
  readonly log: RecordingLogger;
  readonly metrics: RecordingMetrics;
  /** Another process's bus on the same log: what an earlier one had not logged is lost to it. */
  openBus(eventLog: EventLog, clock: Clock): EventBus;
  close(): Promise<void>;
}

export async function makeEmbeddedAdapters(): Promise<EmbeddedAdapters> {
  const { store, database, clock, close } = await makeSqliteStore();
  const ids = createCountingIds();
  const log = createRecordingLogger();
  const eventLog = createSqliteEventLog(database);
  const openBus = (eventLogOfIt: EventLog, clockOfIt: Clock) =>
    createInProcessBus({ log: eventLogOfIt, clock: clockOfIt, logger: log });
  const bus = openBus(eventLog, clock);
  const queue = createSqliteJobQueue({ database, clock, ids, log });
  return {
    store,
    queue,
    bus,
    eventLog,
    clock,
    ids,
    log,
    metrics: createRecordingMetrics(),
    openBus,
    async close() {
      await queue.close();
      await bus.close();
      await close();
    },
  };
}
