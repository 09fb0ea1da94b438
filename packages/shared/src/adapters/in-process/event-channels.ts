import type { SessionKey } from '../../domain/tenant.ts';
import type { Logger } from '../../ports/logger.ts';
import { EventChannel } from './event-channel.ts';

/** The channels of the sessions that somebody writes or watches; the others take no memory. */
export class EventChannels {
  readonly #byKey = new Map<string, EventChannel>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get size(): number {
    return this.#byKey.size;
  }

  find(key: SessionKey): EventChannel | undefined {
    return this.#byKey.get(nameOf(key));
  }

  /** The session's channel, a new one if there is none. {@link release} it when it may have become idle. */
  open(key: SessionKey): EventChannel {
    const found = this.find(key);
    if (found !== undefined) return found;
    const channel = new EventChannel(key, this.#logger);
    this.#byKey.set(nameOf(key), channel);
    return channel;
  }

  release(channel: EventChannel): void {
    if (channel.isIdle && this.find(channel.key) === channel) this.#byKey.delete(nameOf(channel.key));
  }
}

// No tenant's name has a NUL, so no two keys can be mistaken for one another.
function nameOf(key: SessionKey): string {
  return `${key.tenantId}\0${key.sessionId}`;
}
