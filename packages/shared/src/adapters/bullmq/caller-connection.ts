import { Redis } from 'ioredis';
import { isAppError, unavailable } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import { jobScripts } from './job-scripts.ts';
import { reconnectDelay } from './reconnect-delay.ts';

/** For how long callers wait for a connection: until the first one stands, or after one was lost. */
const PATIENCE_MS = 1_000;
/**
 * A server that says nothing for so long is taken for dead, and its connection closed with all that waits on it. Not
 * less: a process that is short of processor time reads late what was answered in time.
 */
const ANSWER_MS = 2_500;

/**
 * The connection of those who would rather hear `unavailable` than wait: nothing is kept for later while Redis is away,
 * and nothing that was sent is sent again.
 */
export class CallerConnection {
  readonly client: Redis;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Resolves when the connection stands, or when it has not come in time. */
  #settled: Promise<void> = Promise.resolve();
  #settle: () => void = () => {};
  #isAway = false;
  #isClosed = false;

  constructor(url: string, clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    this.client = new Redis(url, {
      scripts: jobScripts,
      retryStrategy: reconnectDelay,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: PATIENCE_MS,
      socketTimeout: ANSWER_MS,
    });
    this.client.on('error', (error) => this.#onLoss(error));
    this.client.on('close', () => this.#onLoss(null));
    this.client.on('ready', () => this.#onReady());
    this.#wait();
  }

  /** Does some work with Redis. Throws `unavailable` whatever goes wrong with it. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    await this.#settled;
    this.assertOpen();
    if (this.client.status !== 'ready') throw unavailable('The job queue', new Error('Redis is not connected'));
    try {
      return await work();
    } catch (error) {
      throw isAppError(error) ? error : unavailable('The job queue', error);
    }
  }

  /** Throws `unavailable` once it is closed. */
  assertOpen(): void {
    if (this.#isClosed) throw unavailable('The job queue', new Error('the queue is closed'));
  }

  close(): void {
    this.#isClosed = true;
    this.#settle();
    this.client.disconnect();
  }

  #wait(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(PATIENCE_MS, resolve);
    this.#settled = promise;
    this.#settle = () => {
      cancel();
      resolve();
    };
  }

  /** Called for every attempt that fails; only the first one of an outage is news. */
  #onLoss(error: Error | null): void {
    if (this.#isClosed || this.#isAway) return;
    this.#isAway = true;
    this.#wait();
    this.#log.warn(error === null ? {} : { err: error }, 'Redis cannot be reached: no jobs until it is back.');
  }

  #onReady(): void {
    if (this.#isAway) this.#log.info({}, 'Redis is back.');
    this.#isAway = false;
    this.#settle();
  }
}
