import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from './client.ts';
import { type Exit, freePort, type ServerProcess, startProcess } from './server-process.ts';

export interface TurnwireOptions {
  /** Base URL of the model server. */
  readonly modelUrl: string;
  /** Sent with every call; for servers with `API_KEYS`. */
  readonly apiKey?: string;
  /** What runs, each in a process of its own. Default: all in one. */
  readonly entries?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The product as its clients see it, and as its machine does. */
export interface Turnwire extends Client {
  readonly url: string;
  /** Those that were started last, in the order of `entries`. */
  readonly processes: readonly ServerProcess[];
  /** Starts one more, with further variables. */
  add(entry: string, env?: Readonly<Record<string, string>>): Promise<ServerProcess>;
  /** All lines of its processes, over their restarts. */
  readonly logs: readonly string[];
  /** The same server for a caller with another key. */
  as(apiKey: string): Client;
  /** Only sends the signal. */
  signal(signal: NodeJS.Signals): void;
  /** Sends it to all processes and waits for their end. Answers how the first ended that did not end with 0, if one did. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
  /** Starts it again after its end, on the same data and address, with further variables if there are any. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

/** The product with a folder and a port of its own; with no further options, in one process over the embedded adapters. */
export async function startTurnwire(options: TurnwireOptions): Promise<Turnwire> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-flow-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logs: string[] = [];
  const env = {
    PORT: String(port),
    DATA_DIR: join(folder, 'data'),
    OPENAI_BASE_URL: options.modelUrl,
    OPENAI_API_KEY: 'sk-flow-0123456789',
    OPENAI_MODEL: 'default-model',
    ...options.env,
  };
  const { entries = ['services/all-in-one/src/main.ts'] } = options;
  const start = (more = {}) => startAll(entries, { cwd: folder, env: { ...env, ...more }, logs });
  let running: readonly ServerProcess[] = await start();
  const client = createClient(url, options.apiKey ?? null);

  async function kill(signal: NodeJS.Signals): Promise<Exit> {
    const ending = running;
    running = [];
    for (const process of ending) process.signal(signal);
    const exits = await Promise.all(ending.map(({ exited }) => exited));
    const exit = exits.find(({ code }) => code !== 0) ?? exits[0];
    if (exit === undefined) throw new Error('The server does not run.');
    return exit;
  }

  return {
    ...client,
    url,
    get processes() {
      return running;
    },
    async add(entry, more) {
      const [added] = await startAll([entry], { cwd: folder, env: { ...env, ...more }, logs });
      if (added === undefined) throw new Error('Nothing was started.');
      running = [...running, added];
      return added;
    },
    logs,
    as: (apiKey) => createClient(url, apiKey),
    signal(signal) {
      for (const process of running) process.signal(signal);
    },
    kill,
    async restart(more) {
      running = await start(more);
    },
    async close() {
      client.close();
      if (running.length > 0) await kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** If one of them cannot start, the others are ended. */
async function startAll(
  entries: readonly string[],
  options: Parameters<typeof startProcess>[1],
): Promise<readonly ServerProcess[]> {
  const started = await Promise.allSettled(entries.map((entry) => startProcess(entry, options)));
  const processes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failure = started.find((one) => one.status === 'rejected');
  if (failure === undefined) return processes;
  for (const process of processes) process.signal('SIGKILL');
  throw failure.reason;
}
