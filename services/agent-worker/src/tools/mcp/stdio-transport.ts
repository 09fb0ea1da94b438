import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpServer } from '@turnwire/shared/domain/registration';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Logger } from '@turnwire/shared/ports/logger';

export interface StdioOptions {
  readonly server: Extract<McpServer, { transport: 'stdio' }>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a server may take to end by itself once its input is closed, and then after it was asked to. */
const GRACE_MS = 1_000;
const MAX_LOGGED = 500;

/**
 * Talks to a server that runs as our child. The SDK's own transport hands on more of our environment and ends only the
 * process that it started, not those that this one started, as `npx` and shells do: hence the group.
 */
export async function createStdioTransport({ server, clock, log }: StdioOptions): Promise<Transport> {
  const { ReadBuffer, serializeMessage } = await import('@modelcontextprotocol/sdk/shared/stdio.js');
  const buffer = new ReadBuffer();
  let child: ChildProcessWithoutNullStreams | null = null;

  function onData(chunk: Buffer): void {
    try {
      buffer.append(chunk);
    } catch (error) {
      transport.onerror?.(toError(error));
      if (child !== null) killGroup(child, 'SIGKILL'); // a message beyond all bounds
    }
    for (let more = true; more; ) more = readOne();
  }
  function readOne(): boolean {
    try {
      const message = buffer.readMessage();
      if (message !== null) transport.onmessage?.(message);
      return message !== null;
    } catch (error) {
      transport.onerror?.(toError(error)); // a line that is no message, such as a server's own output
      return true;
    }
  }

  const transport: Transport = {
    async start() {
      child = await start(server);
      child.stdout.on('data', onData);
      child.stdin.on('error', (error) => transport.onerror?.(error));
      child.on('close', () => transport.onclose?.());
      createInterface({ input: child.stderr }).on('line', (line) =>
        log.debug({ stderr: line.slice(0, MAX_LOGGED) }, 'An MCP server wrote to its error output.'),
      );
    },
    send(message) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (child === null) reject(new Error('The MCP server is not running.'));
      else child.stdin.write(serializeMessage(message), (error) => (error == null ? resolve() : reject(error)));
      return promise;
    },
    close: async () => {
      if (child !== null) await end(child, clock);
    },
  };
  return transport;
}

const running = new Set<ChildProcess>();

/** Servers that the process leaves behind when it exits without closing them. */
function endAllOnExit(): void {
  for (const child of running) killGroup(child, 'SIGKILL');
}

async function start({ command, args, env }: StdioOptions['server']): Promise<ChildProcessWithoutNullStreams> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, [...args], {
    env: { PATH, HOME, ...env },
    stdio: 'pipe',
    detached: true,
    windowsHide: true,
  });
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  child.on('error', () => {}); // such as a signal that could not be sent; `close` tells of the end
  if (running.size === 0) process.once('exit', endAllOnExit);
  running.add(child);
  child.once('exit', () => {
    killGroup(child, 'SIGKILL'); // what it started itself and did not end
    running.delete(child);
    if (running.size === 0) process.off('exit', endAllOnExit);
  });
  return child;
}

/** By closing its input, as the protocol asks; then by signals. */
async function end(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new AbortController();
  child.once('exit', () => ended.abort());
  child.stdin.end();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await clock.sleep(GRACE_MS, ended.signal);
    if (ended.signal.aborted) return;
    killGroup(child, signal);
  }
  await clock.sleep(GRACE_MS, ended.signal);
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
