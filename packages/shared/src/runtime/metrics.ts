import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { JOB_KINDS, type JobQueue } from '../ports/job-queue.ts';
import type { Metrics } from '../ports/metrics.ts';

/** What `/metrics` serves beside what the services count through the port. */
export interface ExposedMetrics extends Metrics {
  /** In the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** From a model that answers at once to one that thinks for two minutes. */
const FIRST_TOKEN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** One registry per call, with the process's own figures and the queue's depth as of each scrape. */
export function createMetrics(queue: Pick<JobQueue, 'counts'>): ExposedMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  watchQueue(registry, queue);
  return { ...portMetrics(registry), text: () => registry.metrics(), contentType: registry.contentType };
}

function portMetrics(registry: Registry): Metrics {
  const registers = [registry];
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `turnwire_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string) => new Gauge({ name: `turnwire_${name}`, help, registers });

  const turns = counter('turns_total', 'Turns that ended, or wait for a person, by status.', 'status');
  const activeTurns = gauge('active_turns', 'Turns that this process runs.');
  const firstToken = new Histogram({
    name: 'turnwire_time_to_first_token_seconds',
    help: 'From acceptance of a turn to its first piece of text.',
    buckets: FIRST_TOKEN_SECONDS,
    registers,
  });
  const tokens = counter('tokens_total', 'Tokens as the providers counted them.', 'direction');
  const events = counter('events_total', 'Durable events written.', 'type');
  const sseClients = gauge('sse_clients', 'Open event streams.');
  const sseDropped = counter('sse_dropped_total', 'Event streams closed because their client read too slowly.');
  const extractions = counter('extractions_total', 'Memory extractions that ended.', 'outcome');
  const refused = counter('memories_refused_total', 'Extracted memories that were refused.', 'reason');
  const toolCalls = counter('tool_calls_total', 'Tool calls that were settled.', 'state');
  return {
    turnEnded: (status) => turns.inc({ status }),
    activeTurns: (delta) => activeTurns.inc(delta),
    firstToken: (seconds) => firstToken.observe(seconds),
    tokens: (direction, count) => tokens.inc({ direction }, count),
    eventsWritten: (type, count) => events.inc({ type }, count),
    sseClients: (delta) => sseClients.inc(delta),
    sseDropped: () => sseDropped.inc(),
    extractionEnded: (outcome) => extractions.inc({ outcome }),
    memoryRefused: (reason) => refused.inc({ reason }),
    toolCallSettled: (state) => toolCalls.inc({ state }),
  };
}

function watchQueue(registry: Registry, queue: Pick<JobQueue, 'counts'>): void {
  new Gauge({
    name: 'turnwire_queue_jobs',
    help: 'Jobs in the queue by kind and state.',
    labelNames: ['kind', 'state'],
    registers: [registry],
    async collect() {
      this.reset();
      for (const kind of JOB_KINDS) {
        // A queue that is away shows as absent figures; the rest of the page is wanted all the more.
        const counts = await queue.counts(kind).catch(() => ({}));
        for (const [state, count] of Object.entries(counts)) this.set({ kind, state }, count);
      }
    },
  });
}
