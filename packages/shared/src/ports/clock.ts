/**
 * Time, for everything that reads it or waits: so that a simulation can run the whole under a virtual clock.
 * Leases and expiries are judged by the store's own clock, which an adapter may take from its server.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects: callers look at the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fn` once after `ms`. Returns a function that cancels it. Does not keep the process alive. */
  after(ms: number, fn: () => void): () => void;
  /** Calls `fn` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, fn: () => void): () => void;
}

export const ID_KINDS = ['ses', 'turn', 'msg', 'call', 'int', 'mem', 'job', 'req'] as const;
export type IdKind = (typeof ID_KINDS)[number];

export interface Ids {
  /** A new unique id, `<kind>_<random>`; sorts roughly by time of making. */
  next(kind: IdKind): string;
  /** Uniform in [0, 1): jitter and the like. */
  random(): number;
}
