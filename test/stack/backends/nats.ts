import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { eventually } from '../eventually.ts';
import { freePort } from '../server-process.ts';
import { isSkipped } from './is-skipped.ts';

/** A NATS server with JetStream to test against. */
export interface NatsBackend {
  readonly url: string;
  /** Null where the server is somebody else's: then it is not to be stopped. */
  readonly server: NatsServer | null;
  /** Of a stream that no other test uses. */
  newPrefix(): string;
  /** Ends the server, if it is ours; removes the streams of all prefixes otherwise. */
  close(): Promise<void>;
}

export interface NatsServer {
  /** `SIGSTOP` and `SIGCONT` make it stand still and go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when the process is gone, without a word. */
  kill(): Promise<void>;
  /** On the same port, with what its folder has. Resolves when JetStream answers. */
  start(): Promise<void>;
  /** Removes what it has stored; while it does not run. */
  wipe(): void;
  /** CPU time of the process so far, in milliseconds. */
  cpuMs(): number;
}

/** Null: there is one to start or to use. */
export function missingNats(): string | null {
  if (process.env.NATS_URL || spawnSync('nats-server', ['--version']).status === 0) return null;
  return 'there is no nats-server on the PATH, and NATS_URL is not set';
}

/**
 * A NATS server of our own if `nats-server` is on the PATH, or the one that NATS_URL names. With neither: null, and says
 * so; throws instead where REQUIRE_BACKENDS is 1.
 */
export async function findNats(suite: string): Promise<NatsBackend | null> {
  if (isSkipped(suite, missingNats())) return null;
  const isHere = spawnSync('nats-server', ['--version']).status === 0;
  return isHere ? startOwn() : useGiven(process.env.NATS_URL ?? '');
}

/** For the test itself, to look into the stream or to change it. */
export async function withJetStream<T>(url: string, work: (jsm: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: url, timeout: 2_000 });
  try {
    return await work(await jetstreamManager(connection, { timeout: 2_000 }));
  } finally {
    await connection.close();
  }
}

async function startOwn(): Promise<NatsBackend> {
  const server = new OwnServer(await freePort());
  await server.start();
  return { url: server.url, server, newPrefix: randomPrefix, close: () => server.remove() };
}

function useGiven(url: string): NatsBackend {
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
      withJetStream(url, async ({ streams }) => {
        for (const prefix of prefixes) await streams.delete(prefix).catch(() => false);
      }),
  };
}

class OwnServer implements NatsServer {
  readonly url: string;
  readonly #port: number;
  readonly #dir = mkdtempSync(join(tmpdir(), 'turnwire-nats-'));
  #process: ChildProcess | null = null;

  constructor(port: number) {
    this.#port = port;
    this.url = `nats://127.0.0.1:${port}`;
  }

  async start(): Promise<void> {
    const args = ['-js', '-sd', this.#dir, '-a', '127.0.0.1', '-p', String(this.#port)];
    this.#process = spawn('nats-server', args, { stdio: 'ignore' });
    await eventually(() => withJetStream(this.url, (jsm) => jsm.getAccountInfo()), 10_000);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal);
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  wipe(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  cpuMs(): number {
    const times = spawnSync('ps', ['-o', 'cputimes=', '-p', String(this.#process?.pid)]);
    return Number(times.stdout.toString().trim()) * 1_000;
  }

  async remove(): Promise<void> {
    await this.kill();
    this.wipe();
  }
}

function randomPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}
