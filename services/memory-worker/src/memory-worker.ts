import type { Clock, Ids } from '@turnwire/shared/ports/clock';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import type { JobQueue } from '@turnwire/shared/ports/job-queue';
import type { LanguageModel } from '@turnwire/shared/ports/language-model';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { Store } from '@turnwire/shared/ports/store';
import { runExtractions } from './extraction/run-extractions.ts';
import { pruneAll } from './prune-all.ts';
import { repeat } from './repeat.ts';
import { sweep } from './sweep.ts';

const CONCURRENCY = 4;
const HOUSEKEEPING_MS = 60_000;
const GRACE_MS = 5000;

export interface MemoryWorkerDeps {
  readonly store: Pick<Store, 'agents' | 'memories' | 'extractions' | 'prune'>;
  readonly queue: Pick<JobQueue, 'enqueue' | 'consume'>;
  readonly bus: Pick<EventBus, 'prune'>;
  readonly model: LanguageModel;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'extractionEnded' | 'memoryRefused'>;
  /** `MEMORY_MODEL`; null: each agent's own model. */
  readonly memoryModel: string | null;
  readonly options: {
    readonly sweepMs: number;
    /** Events older than this are removed from the log. */
    readonly eventRetentionMs: number;
  };
}

export interface MemoryWorker {
  /** Begins nothing more and waits up to 5 s for what runs; what still runs then is aborted and stays pending. */
  close(): Promise<void>;
}

/** Extracts memories from completed turns, brings back extractions whose wake-up was lost, and keeps the house clean. */
export function startMemoryWorker(deps: MemoryWorkerDeps): MemoryWorker {
  const { store, queue, bus, clock, options } = deps;
  const stopping = new AbortController();
  const ending = new AbortController();
  const signal = stopping.signal;
  const consumer = queue.consume('extraction', CONCURRENCY, (job, run) =>
    runExtractions(deps, job, run, { stopping: signal, ending: ending.signal }),
  );
  const tasks = [
    repeat(deps, { name: 'sweep of extractions', ms: options.sweepMs, signal }, () => sweep(store, queue)),
    repeat(deps, { name: 'pruning of the store', ms: HOUSEKEEPING_MS, signal }, () =>
      pruneAll(clock, signal, (limit) => store.prune(limit)),
    ),
    repeat(deps, { name: 'pruning of events', ms: HOUSEKEEPING_MS, signal }, () =>
      pruneAll(clock, signal, (limit) => bus.prune(clock.now() - options.eventRetentionMs, limit)),
    ),
  ];
  return {
    async close() {
      stopping.abort();
      await consumer.close(GRACE_MS);
      ending.abort();
      await Promise.all(tasks);
    },
  };
}
