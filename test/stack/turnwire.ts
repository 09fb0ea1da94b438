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
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The product as its clients see it, and as its machine does. */
export interface Turnwire extends Client {
  readonly url: string;
  /** All lines of the process, over its restarts. */
  readonly logs: readonly string[];
  /** The same server for a caller with another key. */
  as(apiKey: string): Client;
  /** Only sends the signal. */
  signal(signal: NodeJS.Signals): void;
  /** Sends it and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
  /** Starts it again after its end, on the same data and address, with further variables if there are any. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

/** The all-in-one process over the embedded adapters, with a folder and a port of its own. */
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
  const start = (more = {}) =>
    startProcess('services/all-in-one/src/main.ts', { cwd: folder, env: { ...env, ...more }, logs });
  let running: ServerProcess | null = await start();
  const client = createClient(url, options.apiKey ?? null);

  async function kill(signal: NodeJS.Signals): Promise<Exit> {
    if (running === null) throw new Error('The server does not run.');
    const { exited } = running;
    running.signal(signal);
    running = null;
    return exited;
  }

  return {
    ...client,
    url,
    logs,
    as: (apiKey) => createClient(url, apiKey),
    signal: (signal) => running?.signal(signal),
    kill,
    async restart(more) {
      running = await start(more);
    },
    async close() {
      client.close();
      if (running !== null) await kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
