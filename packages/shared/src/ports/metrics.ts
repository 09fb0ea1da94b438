/** What the services count. Names, labels and units are those of `/metrics` (prefix `turnwire_`). */
export interface Metrics {
  /** `turns_total{status}`. */
  turnEnded(status: 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'WAITING'): void;
  /** `active_turns`: turns that this process runs. */
  activeTurns(delta: 1 | -1): void;
  /** `time_to_first_token_seconds`: from acceptance of the turn to its first piece of text. */
  firstToken(seconds: number): void;
  /** `tokens_total{direction}`. */
  tokens(direction: 'input' | 'output', count: number): void;
  /** `events_total{type}`: durable events written. */
  eventsWritten(type: string, count: number): void;
  /** `sse_clients`. */
  sseClients(delta: 1 | -1): void;
  /** `sse_dropped_total`: clients whose connection was closed because they read too slowly. */
  sseDropped(): void;
  /** `extractions_total{outcome}` and `memories_refused_total{reason}`. */
  extractionEnded(outcome: 'done' | 'failed'): void;
  memoryRefused(reason: string): void;
  /** `tool_calls_total{state}`. */
  toolCallSettled(state: string): void;
}
