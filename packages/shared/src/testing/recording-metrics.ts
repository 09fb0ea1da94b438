import type { Metrics } from '../ports/metrics.ts';

export interface RecordingMetrics extends Metrics {
  /** What was counted, as `name value`, in order. */
  readonly counted: readonly string[];
}

/** Keeps what is counted. */
export function createRecordingMetrics(): RecordingMetrics {
  const counted: string[] = [];
  const count =
    (name: string) =>
    (...values: readonly (string | number)[]): void => {
      counted.push([name, ...values].join(' '));
    };
  return {
    counted,
    turnEnded: count('turnEnded'),
    activeTurns: count('activeTurns'),
    firstToken: count('firstToken'),
    tokens: count('tokens'),
    eventsWritten: count('eventsWritten'),
    sseClients: count('sseClients'),
    sseDropped: count('sseDropped'),
    extractionEnded: count('extractionEnded'),
    memoryRefused: count('memoryRefused'),
    toolCallSettled: count('toolCallSettled'),
  };
}
