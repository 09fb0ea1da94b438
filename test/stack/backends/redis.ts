import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { isSkipped } from './is-skipped.ts';

/** A Redis to test against. */
export interface RedisBackend {
  readonly url: string;
  /** Null where the server is somebody else's: then it is not to be stopped, and its data not to be flushed. */
  readonly server: RedisServer | null;
  /** Of keys that no other test uses. */
  newPrefix(): string;
  /** Ends the server, if it is ours; removes the keys of all prefixes otherwise. */
  close(): Promise<void>;
}

export interface RedisServer {
  /** `SIGSTOP` and `SIGCONT` make it stand still and go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when the process is gone. `SIGKILL`: without a word; `SIGTERM`: as an operator does it. */
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** On the same port, with what its append-only file has. Resolves when it answers. */
  start(): Promise<void>;
}

/** Null: there is one to start or to use. */
export function missingRedis(): string | null {
  if (process.env.REDIS_URL || spawnSync('redis-server', ['--version']).status === 0) return null;
  return 'there is no redis-server on the PATH, and REDIS_URL is not set';
}

/**
 * A Redis server of our own if `redis-server` is on the PATH, or the one that REDIS_URL names. With neither: null, and
 * says so; throws instead where REQUIRE_BACKENDS is 1.
 */
export async function findRedis(suite: string): Promise<RedisBackend | null> {
  if (isSkipped(suite, missingRedis())) return null;
  const isHere = spawnSync('redis-server', ['--version']).status === 0;
  return isHere ? startOwn() : useGiven(process.env.REDIS_URL ?? '');
}

/** A client for the test itself, such as to look into the server or to change it. */
export async function withRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => {}); // it rejects the command as well
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

async function startOwn(): Promise<RedisBackend> {
  const server = new OwnServer(await freePort());
  await server.start();
  return { url: server.url, server, newPrefix: randomPrefix, close: () => server.remove() };
}

function useGiven(url: string): RedisBackend {
  const prefixes: string[] = [];
  return {
    url,
    server: null,
    newPrefix() {
      const prefix = randomPrefix();
      prefixes.push(prefix);
      return prefix;
    },
    close: () =>
      withRedis(url, async (client) => {
        for (const prefix of prefixes) {
          for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
            if (keys.length > 0) await client.del(...keys);
          }
        }
      }),
  };
}

class OwnServer implements RedisServer {
  readonly url: string;
  readonly #port: number;
  readonly #dir = mkdtempSync(join(tmpdir(), 'turnwire-redis-'));
  #process: ChildProcess | null = null;

  constructor(port: number) {
    this.#port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  get #runs(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  async start(): Promise<void> {
    if (this.#runs) return;
    const persistence = ['--appendonly', 'yes', '--save', ''];
    const place = ['--port', String(this.#port), '--bind', '127.0.0.1', '--dir', this.#dir];
    const args = [...place, ...persistence, '--maxmemory-policy', 'noeviction', '--loglevel', 'warning'];
    this.#process = spawn('redis-server', args, { stdio: 'ignore' });
    await withRedis(this.url, async (client) => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          await client.ping();
          return;
        } catch (error) {
          if (attempt === 100) throw error;
        }
      }
    });
  }

  async stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (child === null || !this.#runs) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal);
  }

  async remove(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function randomPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('There is no free port.');
  return address.port;
}
