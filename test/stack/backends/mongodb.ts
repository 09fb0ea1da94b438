import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from '@turnwire/shared/adapters/mongoose/connection';
import { type MongoStoreOptions, openMongoStore } from '@turnwire/shared/adapters/mongoose/store';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import type { StoreHarness } from '@turnwire/shared/testing/store-harness';
import { eventually } from '../eventually.ts';
import { freePort } from '../server-process.ts';
import { isSkipped } from './is-skipped.ts';

/** A MongoDB to test against. */
export interface MongoBackend {
  readonly url: string;
  /** Null where the server is somebody else's: then it is not to be stopped. */
  readonly server: MongoServer | null;
  /** Of a database that no other test uses. */
  newDatabase(): string;
  /** Ends the server, if it is ours; removes all those databases otherwise. */
  close(): Promise<void>;
}

export interface MongoServer {
  /** `SIGSTOP` and `SIGCONT` make it stand still and go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Resolves when the process is gone, without a word. */
  kill(): Promise<void>;
  /** On the same port, with what its folder has. Resolves when it answers. */
  start(): Promise<void>;
}

/** As `.ci/servers` builds it; also where that has not put it on the PATH. */
const PROGRAMS = ['secantusd-rs', '/opt/secantus/bin/secantusd-rs'];

/** Null: there is one to start or to use. */
export function missingMongo(): string | null {
  if (process.env.MONGODB_URL || findProgram() !== undefined) return null;
  return 'there is no secantusd-rs on the PATH, and MONGODB_URL is not set';
}

/**
 * The server that MONGODB_URL names, or one of our own if there is a `secantusd-rs`. With neither: null, and says so;
 * throws instead where REQUIRE_BACKENDS is 1.
 */
export async function findMongo(suite: string): Promise<MongoBackend | null> {
  if (isSkipped(suite, missingMongo())) return null;
  const program = findProgram();
  const url = process.env.MONGODB_URL;
  return url || program === undefined ? useGiven(url ?? '') : startOwn(program);
}

function findProgram(): string | undefined {
  return PROGRAMS.find((name) => spawnSync(name, ['--version']).error === undefined);
}

async function startOwn(program: string): Promise<MongoBackend> {
  const server = new OwnServer(program, await freePort());
  await server.start();
  return { url: server.url, server, newDatabase: randomName, close: () => server.remove() };
}

function useGiven(url: string): MongoBackend {
  const names: string[] = [];
  return {
    url,
    server: null,
    newDatabase() {
      const name = randomName();
      names.push(name);
      return name;
    },
    async close() {
      for (const dbName of names) await dropDatabase(url, dbName);
    },
  };
}

class OwnServer implements MongoServer {
  readonly url: string;
  readonly #program: string;
  readonly #port: number;
  readonly #dir = mkdtempSync(join(tmpdir(), 'turnwire-mongodb-'));
  #process: ChildProcess | null = null;

  constructor(program: string, port: number) {
    this.#program = program;
    this.#port = port;
    this.url = `mongodb://127.0.0.1:${port}/`;
  }

  async start(): Promise<void> {
    const place = ['--host', '127.0.0.1', '--port', String(this.#port), '--storage-path', this.#dir];
    // Without --sync-on-commit it loses the last acknowledged writes when it is killed.
    const args = [...place, '--cache-size', '256M', '--log-file-max', '16MB', '--sync-on-commit'];
    this.#process = spawn(this.#program, args, { stdio: 'ignore' });
    await eventually(async () => {
      const connection = await openConnection(this.url, { serverSelectionTimeoutMS: 100 });
      await connection.close();
    }, 20_000);
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

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Of mongoose's `readyState`. */
const CONNECTED = 1;

/** A store in a database of its own, under a manual clock. */
export async function makeMongoStore(
  { url, newDatabase }: MongoBackend,
  options: Pick<MongoStoreOptions, 'transactions'>,
): Promise<StoreHarness> {
  const connection = await openConnection(url, { dbName: newDatabase() });
  // Not in the past: by its own clock, the server removes what has expired.
  const clock = createManualClock(Date.now());
  const store = await openMongoStore(connection, { ...options, log: createRecordingLogger(), clock });
  return {
    store,
    advance: (ms) => clock.advance(ms),
    async close() {
      if (connection.readyState === CONNECTED) await connection.dropDatabase();
      await store.close();
    },
  };
}

async function dropDatabase(url: string, dbName: string): Promise<void> {
  const connection = await openConnection(url, { dbName });
  await connection.dropDatabase();
  await connection.close();
}

function randomName(): string {
  return `turnwire_test_${randomBytes(6).toString('hex')}`;
}
