import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

/** Stands between a client and its server, as a network does: it can fail in the ways in which networks fail. */
export class CutProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #isCut = false;
  #delayMs = 0;

  private constructor(target: string) {
    const { hostname, port } = new URL(target);
    this.#target = { host: hostname, port: Number(port) };
    this.#server = createServer((client) => this.#accept(client));
  }

  /** `target`: URL of the server. */
  static async start(target: string): Promise<CutProxy> {
    const proxy = new CutProxy(target);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  /** `host:port` to be connected to instead of the server. */
  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy does not listen.');
    return `127.0.0.1:${address.port}`;
  }

  /** Breaks every connection, and each new one at once, until `mend`. */
  cut(): void {
    this.#isCut = true;
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  mend(): void {
    this.#isCut = false;
    this.#delayMs = 0;
  }

  /** Everything takes this much longer, in both directions. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** The connections of now stay open and carry nothing more, as when the other machine has lost its power. */
  halfOpen(): void {
    for (const { client, upstream } of this.#pairs) {
      client.removeAllListeners('data').pause();
      upstream.removeAllListeners('data').pause();
    }
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#isCut) return void client.destroy();
    const pair = { client, upstream: connect(this.#target) };
    this.#pairs.add(pair);
    this.#carry(client, pair.upstream);
    this.#carry(pair.upstream, client);
    for (const socket of [client, pair.upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => {}); // its close is what counts
      socket.on('close', () => {
        client.destroy();
        pair.upstream.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  #carry(from: Socket, to: Socket): void {
    let last: Promise<unknown> = Promise.resolve();
    from.on('data', (chunk) => {
      const due = this.#delayMs === 0 ? null : sleep(this.#delayMs);
      last = last.then(() => due).then(() => to.writable && to.write(chunk)); // in order, whatever the delay was
    });
  }
}
