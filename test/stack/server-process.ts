import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  /** What it runs, such as `services/gateway/src/main.ts`. */
  readonly entry: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  isAlive(): boolean;
  /** Only sends it. */
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts an entry of the product as people do, but without npm in between. Resolves when it says that it is ready,
 * rejects with what it said if it ends before.
 */
export async function startProcess(
  entry: string,
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly logs: string[] },
): Promise<ServerProcess> {
  const { cwd, logs } = options;
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [join(ROOT, 'scripts/launch.mjs'), entry], {
    cwd,
    env: { PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close').then(([code, signal]): Exit => ({ code, signal }));
  const ready = Promise.withResolvers<void>();
  onLines(child.stdout, (line) => {
    logs.push(line);
    if (/^Turnwire.* is ready/.test(line)) ready.resolve();
  });
  onLines(child.stderr, (line) => logs.push(line));
  const early = exited.then(({ code }) => {
    throw new Error(`${entry} ended with ${code} before it was ready:\n${logs.slice(-20).join('\n')}`);
  });
  await Promise.race([ready.promise, early]);
  early.catch(() => undefined);
  return {
    entry,
    pid: child.pid ?? 0,
    exited,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    signal: (signal) => void child.kill(signal),
  };
}

function onLines(stream: ChildProcess['stdout'], take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
}

/** A port that was free a moment ago: one that stays the same over restarts. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
  return address.port;
}
