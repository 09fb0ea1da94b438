import type { Clock, Ids } from '@turnwire/shared/ports/clock';
import type { Embedder } from '@turnwire/shared/ports/embedder';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import type { JobQueue } from '@turnwire/shared/ports/job-queue';
import type { LanguageModel } from '@turnwire/shared/ports/language-model';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { Store } from '@turnwire/shared/ports/store';

/** What an agent worker is given by the place that composes it. */
export interface WorkerDependencies {
  readonly store: Store;
  readonly queue: JobQueue;
  readonly bus: EventBus;
  readonly model: LanguageModel;
  /** Null: memories are recalled by words alone. */
  readonly embedder: Embedder | null;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly options: WorkerOptions;
}

export interface WorkerOptions {
  /** Name of this worker, for people who look at a lease. */
  readonly holder: string;
  /** Turns that this process runs at once. */
  readonly workerConcurrency: number;
  readonly leaseMs: number;
  readonly sweepMs: number;
  /** How long turns may go on when the worker is asked to stop, before they are handed over. */
  readonly drainMs: number;
  readonly toolsAllowPrivate: boolean;
  /** Whether an MCP server may be a command that runs on this machine. */
  readonly toolsAllowStdio: boolean;
  /** Whether `get_weather` may answer from a recording when there is no network; only with the demo model. */
  readonly recordedWeather: boolean;
}
