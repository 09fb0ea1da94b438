import type { JsonObject } from '@turnwire/shared/domain/json';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Tool, ToolCallContext } from '@turnwire/shared/ports/tool';
import { withDeadline } from '../deadline.ts';
import { ToolError } from '../tool-error.ts';
import type { ListedTool } from './listed-tool.ts';
import type { McpClient, McpClientOptions } from './mcp-client.ts';
import { SessionGone } from './mcp-error.ts';
import { createMcpTool } from './mcp-tool.ts';
import { reconnectDelay, STABLE_MS } from './reconnect-delay.ts';
import { settledWithin } from './settled-within.ts';

/** Opens a connection; see `openMcpClient`. */
export type OpenMcp = (
  listeners: Pick<McpClientOptions, 'onToolsChanged' | 'onLost'>,
  signal: AbortSignal,
) => Promise<McpClient>;

export interface McpConnectionOptions {
  readonly name: string;
  readonly open: OpenMcp;
  readonly clock: Clock;
  readonly log: Logger;
}

const CONNECT_MS = 10_000;
/** How long a step waits at most for a server that is being started, and for a list that is being read again. */
const STEP_WAIT_MS = 5_000;
const LIST_MS = 10_000;
/** Servers without a way to tell of changes are asked again now and then. */
const LIST_AGE_MS = 60_000;
const MAX_REASON = 300;

type State =
  | { readonly kind: 'idle' | 'down' | 'closed' }
  /** `patient`: a step waits for it. Nobody waits for a server that has failed to come up before. */
  | {
      readonly kind: 'connecting';
      readonly attempt: Promise<void>;
      readonly startedAt: number;
      readonly patient: boolean;
    }
  | { readonly kind: 'ready'; readonly client: McpClient; readonly since: number };

/**
 * The connection to one revision of a registered MCP server: opened on first use, and again when it was lost, shared by
 * all sessions of the tenant. While the server cannot be reached it has no tools, which is logged once, and it is tried
 * again in the background.
 */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  readonly #closing = new AbortController();
  #state: State = { kind: 'idle' };
  #tools: readonly Tool[] = [];
  #listedAt = 0;
  #refresh: Promise<void> | null = null;
  #listIsOld = false;
  #failures = 0;
  #complained = false;
  #running = 0;
  #usedAt: number;
  #retired = false;
  #cancelRetry: () => void = () => {};

  constructor(options: McpConnectionOptions) {
    this.#options = options;
    this.#usedAt = options.clock.now();
  }

  /** For how long nobody has asked anything of it, in ms; 0 while calls run. */
  get idleMs(): number {
    return this.#running > 0 ? 0 : this.#options.clock.now() - this.#usedAt;
  }

  /** The server's tools; none while it cannot be reached. */
  async tools(): Promise<readonly Tool[]> {
    const { clock } = this.#options;
    this.#usedAt = clock.now();
    if (this.#state.kind === 'idle') this.#connect(true);
    if (this.#state.kind === 'connecting' && this.#state.patient) {
      const { attempt, startedAt } = this.#state;
      await settledWithin(clock, attempt, startedAt + STEP_WAIT_MS - clock.now());
    }
    if (this.#refresh !== null) await settledWithin(clock, this.#refresh, STEP_WAIT_MS);
    if (this.#state.kind !== 'ready') return [];
    if (clock.now() - this.#listedAt > LIST_AGE_MS) void this.#refreshList(); // for the next step
    return this.#tools;
  }

  /** Ends the connection when the calls that run have ended. */
  retire(): void {
    this.#retired = true;
    if (this.#running === 0) void this.close();
  }

  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#closing.abort(new ToolError(`The MCP server "${this.#options.name}" is not in use any more.`));
    this.#cancelRetry();
    if (state.kind === 'connecting') await state.attempt;
    if (state.kind === 'ready') await state.client.close().catch(() => {});
  }

  async #call(tool: ListedTool, args: JsonObject, context: ToolCallContext): Promise<string> {
    const { signal, idempotencyKey } = context;
    const call = { name: tool.name, arguments: args, idempotencyKey };
    this.#running += 1;
    try {
      const client = await this.#readyClient(signal);
      try {
        return await client.callTool(call, signal);
      } catch (error) {
        if (!(error instanceof SessionGone)) throw error;
        this.#onLost(client); // the call has not run, so it may be made once more
        return await (await this.#readyClient(signal)).callTool(call, signal);
      }
    } finally {
      this.#running -= 1;
      this.#usedAt = this.#options.clock.now();
      if (this.#retired && this.#running === 0) void this.close();
    }
  }

  async #readyClient(signal: AbortSignal): Promise<McpClient> {
    const { name, clock } = this.#options;
    if (this.#state.kind === 'idle') this.#connect(true);
    if (this.#state.kind === 'connecting') await settledWithin(clock, this.#state.attempt, CONNECT_MS, signal);
    signal.throwIfAborted();
    if (this.#state.kind === 'ready') return this.#state.client;
    throw new ToolError(`The MCP server "${name}" cannot be reached now.`);
  }

  #connect(patient: boolean): void {
    const { clock } = this.#options;
    const attempt = this.#attempt().catch((error: unknown) => this.#onFailure(error));
    this.#state = { kind: 'connecting', attempt, startedAt: clock.now(), patient };
  }

  async #attempt(): Promise<void> {
    const { clock, log, name, open } = this.#options;
    const message = `The server did not answer within ${CONNECT_MS / 1000} seconds.`;
    const deadline = { clock, signal: this.#closing.signal, limitMs: CONNECT_MS, message };
    const lost = new AbortController();
    let opened: McpClient | null = null;
    const onLost = () => {
      lost.abort();
      if (opened !== null) this.#onLost(opened);
    };
    const onToolsChanged = () => {
      this.#listIsOld = true;
      void this.#refreshList();
    };
    await withDeadline(deadline, async (signal) => {
      const client = await open({ onToolsChanged, onLost }, signal);
      opened = client;
      try {
        this.#takeList(await client.listTools(signal));
        signal.throwIfAborted();
        if (lost.signal.aborted) throw new ToolError('The server ended at once.');
      } catch (error) {
        opened = null;
        await client.close().catch(() => {});
        throw error;
      }
      this.#state = { kind: 'ready', client, since: clock.now() };
    });
    log.info({ tools: this.#tools.length }, `The MCP server "${name}" is connected.`);
    this.#complained = false;
    if (this.#listIsOld) void this.#refreshList(); // it changed while it was being read
  }

  #onFailure(error: unknown): void {
    if (this.#state.kind === 'closed') return;
    const { log, name } = this.#options;
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON);
    const sentence = `The MCP server "${name}" cannot be reached: its tools are absent until it can.`;
    if (this.#complained) log.debug({ reason }, sentence);
    else log.warn({ reason }, sentence);
    this.#complained = true;
    this.#failures += 1;
    this.#retryLater(reconnectDelay(this.#failures));
  }

  #onLost(client: McpClient): void {
    if (this.#state.kind !== 'ready' || this.#state.client !== client) return;
    const { clock, log, name } = this.#options;
    const wasStable = clock.now() - this.#state.since >= STABLE_MS;
    log.info({}, `The connection to the MCP server "${name}" was lost.`);
    client.close().catch(() => {});
    this.#failures = wasStable ? 0 : this.#failures + 1;
    // The first loss is mended at once, and the next step waits for it; a server that ends again and again is not.
    if (this.#failures <= 1) this.#connect(true);
    else this.#retryLater(reconnectDelay(this.#failures));
  }

  #retryLater(delayMs: number): void {
    this.#state = { kind: 'down' };
    this.#cancelRetry = this.#options.clock.after(delayMs, () => {
      if (this.#state.kind === 'down') this.#connect(false);
    });
  }

  /** Reads the list again, and once more if it changed meanwhile. Until then, or if that fails, the known one stays. */
  #refreshList(): Promise<void> {
    this.#refresh ??= this.#readList()
      .catch((error: unknown) => {
        this.#listIsOld = false;
        this.#options.log.debug({ err: error }, 'The tools of an MCP server could not be listed again.');
      })
      .finally(() => {
        this.#refresh = null;
      });
    return this.#refresh;
  }

  async #readList(): Promise<void> {
    const { clock } = this.#options;
    do {
      if (this.#state.kind !== 'ready') return;
      const { client } = this.#state;
      this.#listIsOld = false;
      this.#listedAt = clock.now();
      const deadline = { clock, signal: this.#closing.signal, limitMs: LIST_MS, message: 'The list took too long.' };
      this.#takeList(await withDeadline(deadline, (signal) => client.listTools(signal)));
    } while (this.#listIsOld);
  }

  #takeList(tools: readonly ListedTool[]): void {
    const { name, clock } = this.#options;
    this.#listedAt = clock.now();
    this.#tools = tools.map((tool) => createMcpTool(name, tool, (args, context) => this.#call(tool, args, context)));
  }
}
