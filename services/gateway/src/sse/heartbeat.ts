import type { Clock } from '@turnwire/shared/ports/clock';
import type { ClientStream } from './client-stream.ts';

const INTERVAL_MS = 5000;
// One timer for all clients, and a part of them at a time: 10,000 writes in one go would delay everyone's tokens.
const PARTS = 20;

/** Keeps idle connections open through proxies. */
export class Heartbeat {
  readonly #parts = Array.from({ length: PARTS }, () => new Set<ClientStream>());
  #added = 0;
  #beaten = 0;
  readonly stop: () => void;

  constructor(clock: Clock) {
    this.stop = clock.every(INTERVAL_MS / PARTS, () => {
      this.#beaten += 1;
      for (const client of this.#part(this.#beaten)) client.beat();
    });
  }

  add(client: ClientStream): void {
    this.#added += 1;
    this.#part(this.#added).add(client);
  }

  remove(client: ClientStream): void {
    for (const part of this.#parts) if (part.delete(client)) return;
  }

  #part(n: number): Set<ClientStream> {
    const part = this.#parts[n % PARTS];
    if (part === undefined) throw new RangeError(`There is no part ${n}.`);
    return part;
  }
}
