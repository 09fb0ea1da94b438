import { connect, type NatsConnection, type Payload } from '@nats-io/transport-node';
import { unavailable } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import { busUnavailable } from './nats-failure.ts';
import { readServerAddress } from './server-address.ts';

/** How long anything is waited for that a server answers at once when it is well. */
export const ANSWER_MS = 2_000;

const CLOSING_MS = 1_000;

/**
 * A server that is gone is tried for as long as the process lives. One that is silent is given up after some seconds:
 * it may be half of a connection whose other end has died.
 */
const PATIENCE = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 100,
  reconnectJitter: 100,
  reconnectJitterTLS: 100,
  ignoreAuthErrorAbort: true,
  timeout: ANSWER_MS,
  pingInterval: 2_000,
  maxPingOut: 2,
  noAsyncTraces: true, // a stack trace per request is a third of what a request costs
};

export interface LinkListener {
  /** What was on its way may be lost. */
  onLost?(): void;
  /** The connection is there again, and so are its subscriptions. */
  onRestored?(): void;
}

/** The connection of this process. */
export class NatsLink {
  readonly connection: NatsConnection;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #listeners = new Set<LinkListener>();
  #isUp = true;
  #closed = false;

  constructor(connection: NatsConnection, clock: Clock, log: Logger) {
    this.connection = connection;
    this.#clock = clock;
    this.#log = log;
    void this.#follow();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The largest message that the server takes. */
  get maxPayload(): number {
    return this.connection.info?.max_payload ?? 1024 * 1024;
  }

  /** Throws `unavailable` at once where a request would only be waited for. */
  assertUp(): void {
    if (this.#closed) throw unavailable('The event bus', new Error('the bus is closed'));
    if (!this.#isUp) throw unavailable('The event bus', new Error('the connection is lost'));
  }

  /** Returns a function that ends it. */
  listen(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Best effort: what is sent while the connection is lost is lost. */
  send(subject: string, payload?: Payload, reply = ''): void {
    if (this.#isUp && !this.#closed) this.connection.publish(subject, payload, { reply });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // What was sent gets its time to be sent, but a server that does not answer must not hold up the process.
    if (this.#isUp) await Promise.race([this.connection.flush().catch(() => {}), this.#clock.sleep(CLOSING_MS)]);
    await this.connection.close();
  }

  async #follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      switch (status.type) {
        case 'disconnect':
        case 'close':
          this.#setUp(false);
          break;
        case 'reconnect':
          this.#setUp(true);
          break;
        case 'error':
          this.#log.warn({ err: status.error }, 'The NATS server complained.');
          break;
        default:
      }
    }
  }

  #setUp(isUp: boolean): void {
    if (this.#closed || this.#isUp === isUp) return;
    this.#isUp = isUp;
    if (isUp) this.#log.info({}, 'Connected to the NATS server again.');
    else this.#log.warn({}, 'The connection to the NATS server is lost; trying again.');
    for (const listener of [...this.#listeners]) {
      if (isUp) listener.onRestored?.();
      else listener.onLost?.();
    }
  }
}

/** Throws `unavailable` if no server answers. */
export async function openLink(url: string, clock: Clock, log: Logger): Promise<NatsLink> {
  const address = readServerAddress(url);
  try {
    return new NatsLink(await connect({ ...address, ...PATIENCE, name: 'turnwire' }), clock, log);
  } catch (error) {
    throw busUnavailable(error);
  }
}
