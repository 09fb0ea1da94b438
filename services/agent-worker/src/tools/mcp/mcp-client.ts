import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JsonObject } from '@turnwire/shared/domain/json';
import type { McpServer } from '@turnwire/shared/domain/registration';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Logger } from '@turnwire/shared/ports/logger';
import { withDeadline } from '../deadline.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { ToolError } from '../tool-error.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { type ListedTool, toListedTool, toolPageSchema } from './listed-tool.ts';
import { toCallError } from './mcp-error.ts';
import { resultText, toolResultSchema } from './result-text.ts';
import { createStdioTransport } from './stdio-transport.ts';

export interface McpClientOptions {
  readonly server: McpServer;
  readonly fetch: GuardedFetch['fetch'];
  readonly clock: Clock;
  readonly log: Logger;
  /** The server says that its tools are others now. */
  readonly onToolsChanged: () => void;
  /** The connection is gone, whoever ended it. Said once. */
  readonly onLost: () => void;
}

/** One connection to an MCP server, opened. Nothing of the SDK goes beyond it. */
export interface McpClient {
  listTools(signal: AbortSignal): Promise<readonly ListedTool[]>;
  /**
   * The result as text. Throws a `ToolError` for the model, `SessionGone` if the server does not know the connection
   * any more and so has not run the call, or the signal's reason after it told the server that the call is cancelled.
   */
  callTool(call: McpCall, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export interface McpCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly idempotencyKey: string;
}

/** The SDK has a limit of its own for every request; ours are signals, under the clock that we are given. */
const NO_LIMIT = 2 ** 31 - 1;
const MAX_PAGES = 100;
const PROBE_MS = 3_000;
const FAREWELL_MS = 1_000;

/** Connects, starting the server if it is a program. Rejects when the signal aborts; then nothing is left behind. */
export async function openMcpClient(options: McpClientOptions, signal: AbortSignal): Promise<McpClient> {
  const { server, log, onToolsChanged, onLost } = options;
  const [{ Client: SdkClient }, { ToolListChangedNotificationSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const transport = await createTransport(options);
  signal.throwIfAborted();
  const client = new SdkClient({ name: 'turnwire', version: '0.1.0' }, { capabilities: {} });
  client.setNotificationHandler(ToolListChangedNotificationSchema, onToolsChanged);
  client.onclose = onLost;
  const probe = server.transport === 'http' ? createProbe(client, options) : () => {};
  client.onerror = (error) => {
    log.debug({ err: error }, 'An MCP connection reported an error.');
    probe();
  };
  try {
    await client.connect(transport, { signal, timeout: NO_LIMIT });
  } catch (error) {
    await transport.close(); // the SDK does not wait for that
    throw error;
  }
  return {
    listTools: (listSignal) => listTools(client, listSignal),
    callTool: (call, callSignal) => callTool(client, server.name, call, callSignal),
    close: () => closeClient(client, transport, options.clock),
  };
}

async function createTransport({ server, fetch, clock, log }: McpClientOptions): Promise<Transport> {
  if (server.transport === 'stdio') return createStdioTransport({ server, clock, log });
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  return new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: boundedFetch(fetch),
    requestInit: { headers: server.headers },
  });
}

/**
 * An HTTP connection does not end by itself when its server does: a call would wait for an answer on a stream that broke.
 * So every error makes us ask whether the server still knows us, and if not, the connection is closed.
 */
function createProbe(client: Client, { clock, log }: McpClientOptions): () => void {
  let probing = false;
  const ask = (signal: AbortSignal) => client.ping({ signal, timeout: NO_LIMIT });
  return () => {
    if (probing || client.getServerCapabilities() === undefined) return;
    probing = true;
    const { signal } = new AbortController();
    withDeadline({ clock, signal, limitMs: PROBE_MS, message: 'No answer.' }, ask)
      .catch(async (error: unknown) => {
        log.debug({ err: error }, 'An MCP server does not answer any more.');
        await client.close();
      })
      .catch(() => {})
      .finally(() => {
        probing = false;
      });
  };
}

async function listTools(client: Client, signal: AbortSignal): Promise<readonly ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools = new Map<string, ListedTool>();
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const params = cursor === undefined ? {} : { cursor };
    // Not the SDK's `listTools`: it refuses the whole list for one tool that is malformed.
    const page = await client.request({ method: 'tools/list', params }, toolPageSchema, { signal, timeout: NO_LIMIT });
    for (const tool of page.tools.map(toListedTool)) if (tool !== null) tools.set(tool.name, tool);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  return [...tools.values()];
}

async function callTool(client: Client, server: string, call: McpCall, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  // A signal of its own: the SDK never takes its listener off, and would cancel a call that has ended long ago.
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const { name, arguments: args, idempotencyKey } = call;
  const params = { name, arguments: args, _meta: { 'turnwire/idempotency-key': idempotencyKey } };
  try {
    const options = { signal: controller.signal, timeout: NO_LIMIT };
    const result = await client.request({ method: 'tools/call', params }, toolResultSchema, options);
    if (result.isError) throw new ToolError(resultText(result));
    return resultText(result);
  } catch (error) {
    throw signal.aborted ? signal.reason : toCallError(error, server);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** A server over HTTP keeps what belongs to a session until it is told that it ends. */
async function closeClient(client: Client, transport: Transport, clock: Clock): Promise<void> {
  if ('terminateSession' in transport && typeof transport.terminateSession === 'function') {
    const farewell = Promise.resolve(transport.terminateSession()).catch(() => {});
    await Promise.race([farewell, clock.sleep(FAREWELL_MS)]);
  }
  await client.close();
}
