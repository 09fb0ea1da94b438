import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Gateway, type GatewayOptions, startGateway } from '@turnwire/gateway/gateway';
import { firstEventId } from '@turnwire/shared/domain/aggregate';
import type { Claim } from '@turnwire/shared/domain/decide-claim';
import type { HolderResult } from '@turnwire/shared/domain/decide-lease';
import type { EventDraft, NumberedEvent, OutboxEntry } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import { NO_USAGE } from '@turnwire/shared/domain/usage';
import type { EventWriter } from '@turnwire/shared/ports/event-bus';
import { readConfiguration } from '@turnwire/shared/runtime/config';
import { type Adapters, openAdapters } from '@turnwire/shared/runtime/open-adapters';

/** What the scripted worker does with a turn, given its text. */
export type Script = (turn: TurnRun) => Promise<void>;

export interface GatewayFixture {
  readonly adapters: Adapters;
  readonly gateway: Gateway;
  readonly url: string;
  /** Calls the gateway; `body` is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** An agent and a session of it. */
  session(): Promise<string>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** A gateway over the embedded adapters, with a worker that follows a script instead of a model. */
export async function startFixture(script: Script, options: Partial<GatewayOptions> = {}): Promise<GatewayFixture> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnwire-gateway-'));
  const configuration = readConfiguration({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
  const adapters = await openAdapters(configuration, { baseUrl: null, apiKey: null, name: 'scripted' });
  const gateway = await startGateway({
    ...adapters,
    model: { label: 'scripted', demo: true },
    apiKeys: [],
    toolsAllowStdio: true,
    metricsKey: null,
    host: '127.0.0.1',
    port: 0,
    ...options,
  });
  const consumer = adapters.queue.consume('turn', 8, ({ tenantId, sessionId }) =>
    work(adapters, { tenantId, sessionId }, script),
  );
  const { url } = gateway;
  const call: GatewayFixture['call'] = (method, path, body, headers) => callJson(url + path, method, body, headers);
  return {
    adapters,
    gateway,
    url,
    call,
    async session() {
      await call('PUT', '/v1/agents/helper', {});
      const { body } = await call('POST', '/v1/sessions', { agentId: 'helper', userId: 'ada' });
      return body.id;
    },
    async close() {
      await gateway.close();
      await consumer.close(1000);
      await adapters.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function callJson(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(url, { method, headers: { ...json, ...headers }, ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** One turn in the hands of the script. Ends `COMPLETED` with its deltas as the answer unless the script suspends it. */
export class TurnRun {
  readonly claim: Claim;
  readonly #adapters: Adapters;
  readonly #key: SessionKey;
  readonly #writer: EventWriter;
  #nextEventId: number;
  #text = '';
  suspended = false;

  constructor(adapters: Adapters, key: SessionKey, claim: Claim, writer: EventWriter) {
    this.#adapters = adapters;
    this.#key = key;
    this.claim = claim;
    this.#writer = writer;
    this.#nextEventId = Math.max(firstEventId(claim.lease.token), claim.session.lastEventId + 1);
    this.#publish(claim.outbox);
  }

  get turnId(): string {
    return this.claim.turn?.id ?? '';
  }

  get userText(): string {
    return this.claim.turn?.text ?? '';
  }

  get resumed(): boolean {
    return this.claim.outbox.some(({ event }) => event.type === 'turn.resumed');
  }

  delta(text: string): void {
    this.#text += text;
    const step = (this.claim.turn?.steps ?? 0) + 1;
    this.append({ type: 'turn.delta', turnId: this.turnId, data: { step, text }, ts: this.#adapters.clock.now() });
  }

  /** Shown, and no part of the answer. */
  think(text: string): void {
    this.append({
      type: 'reasoning.delta',
      turnId: this.turnId,
      data: { step: 1, text },
      ts: this.#adapters.clock.now(),
    });
  }

  append(event: EventDraft): void {
    this.#writer.append([{ ...event, id: this.#nextEventId }]);
    this.#nextEventId += 1;
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Whether somebody asked for the turn's end. */
  async cancelled(): Promise<boolean> {
    const { token } = this.claim.lease;
    const { cancel, outboxWaits } = await this.#adapters.store.turns.renew(this.#key, { token, leaseMs: 10_000 });
    if (outboxWaits) this.#publish(await this.#adapters.store.turns.adoptOutbox(this.#key, { write: this.#write }));
    return cancel !== null;
  }

  /** Asks for the approval of this many calls. */
  async suspend(callCount: number): Promise<void> {
    const { turns } = this.#adapters.store;
    const step = (this.claim.turn?.steps ?? 0) + 1;
    const calls = Array.from({ length: callCount }, (_, n) => ({
      id: `call_${this.turnId}_${step}_${n}`,
      name: 'send_email',
      arguments: { to: n },
      invalid: null,
    }));
    const message = { id: `msg_${this.turnId}_${step}`, content: '' };
    const { turnId } = this;
    const write = () => ({ write: this.#write, turnId });
    this.#follow(await turns.recordStep(this.#key, { ...write(), step, message, calls, usage: NO_USAGE }));
    const suspension = { reason: 'tool_approval', beforeNodes: ['tools'], ttlMs: null, onExpire: 'reject' } as const;
    const callIds = calls.map(({ id }) => id);
    const interruptId = `int_${turnId}_${step}`;
    this.#follow(await turns.suspend(this.#key, { ...write(), ...suspension, callIds, interruptId }));
    this.suspended = true;
  }

  async begin(): Promise<void> {
    const checkpoint = { version: 1, systemPrompt: '', memoryIds: [], reminders: [] } as const;
    const userMessage = { id: `msg_${this.turnId}`, role: 'user', content: this.userText } as const;
    const command = { write: this.#write, turnId: this.turnId, agentRevision: 1, userMessage, checkpoint };
    this.#follow(await this.#adapters.store.turns.begin(this.#key, command));
  }

  async finish(): Promise<void> {
    await this.flush();
    const outcome = this.claim.forcedEnd ?? { status: 'COMPLETED' as const };
    const answer = { messageId: `msg_${this.turnId}_${this.claim.lease.token}`, text: this.#text, truncated: false };
    const end = { outcome, answer, usage: NO_USAGE, mode: 'conversation', extract: false } as const;
    this.#follow(
      await this.#adapters.store.turns.finish(this.#key, { write: this.#write, turnId: this.turnId, ...end }),
    );
  }

  async release(): Promise<boolean> {
    await this.flush();
    const { wake } = await this.#adapters.store.turns.release(this.#key, { write: this.#write });
    this.#writer.close();
    return wake;
  }

  get #write() {
    const { confirmedId: publishedId } = this.#writer;
    return { token: this.claim.lease.token, nextEventId: this.#nextEventId, publishedId };
  }

  #follow({ session, outbox }: HolderResult): void {
    this.#nextEventId = Math.max(this.#nextEventId, session.lastEventId + 1);
    this.#publish(outbox);
  }

  #publish(outbox: readonly OutboxEntry[]): void {
    const events = outbox.flatMap(({ id, event }): NumberedEvent[] => (id === null ? [] : [{ ...event, id }]));
    this.#writer.append(events);
    this.#nextEventId = Math.max(this.#nextEventId, (events.at(-1)?.id ?? 0) + 1);
  }
}

async function work(adapters: Adapters, key: SessionKey, script: Script): Promise<void> {
  const claim = await adapters.store.turns.claim(key, { holder: 'scripted', leaseMs: 10_000 });
  if (claim === null) return;
  const run = new TurnRun(adapters, key, claim, await adapters.bus.openWriter(key, claim.lease.token));
  if (claim.turn !== null) {
    if (claim.turn.checkpoint === null && claim.forcedEnd === null) await run.begin();
    if (claim.forcedEnd === null) await script(run);
    if (!run.suspended) await run.finish();
  }
  if (await run.release()) await adapters.queue.enqueue({ kind: 'turn', ...key, turnId: null });
}

export interface SseEvent {
  readonly id: number | null;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  readonly data: any;
}

/** An event stream, read line by line as the specification has it. */
export class SseReader {
  readonly events: SseEvent[] = [];
  readonly comments: string[] = [];
  /** Whether the server ended it in good order; null as long as it is open. */
  ended: boolean | null = null;
  readonly response: IncomingMessage;
  readonly #text: string[] = [];
  #rest: string[] = [];
  #id: number | null = null;
  #type = '';
  #data = '';
  #changed: () => void = () => {};

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.#read(chunk));
    response.on('end', () => this.#end(true));
    response.on('close', () => this.#end(false));
    response.on('error', () => {});
  }

  /** All of the stream's text. */
  get raw(): string {
    return this.#text.join('');
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  get text(): string {
    return this.events.map(({ type, data }) => (type === 'turn.delta' ? data.text : '')).join('');
  }

  get ids(): readonly number[] {
    return this.events.flatMap(({ id }) => (id === null ? [] : [id]));
  }

  /** Resolves when what was read so far satisfies the condition; rejects if the stream closes before. */
  async until(condition: (reader: this) => boolean, ms = 10_000): Promise<this> {
    const limit = Date.now() + ms;
    while (!condition(this)) {
      if (this.ended !== null) throw new Error(`The stream closed early: ${this.raw.slice(-400)}`);
      if (Date.now() > limit) throw new Error(`Nothing came in time: ${this.raw.slice(-400)}`);
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#changed = resolve;
        }),
        new Promise((resolve) => setTimeout(resolve, 50)),
      ]);
    }
    return this;
  }

  /** Resolves when the stream is closed. */
  async closed(ms = 10_000): Promise<this> {
    const limit = Date.now() + ms;
    while (this.ended === null) {
      if (Date.now() > limit) throw new Error(`The stream stays open: ${this.raw.slice(-400)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this;
  }

  destroy(): void {
    this.response.destroy();
  }

  #end(inOrder: boolean): void {
    this.ended ??= inOrder;
    this.#changed();
  }

  #read(chunk: string): void {
    this.#text.push(chunk);
    const [head = '', ...lines] = chunk.split('\n');
    this.#rest.push(head);
    for (const line of lines) {
      this.#line(this.#rest.join(''));
      this.#rest = [line];
    }
    this.#changed();
  }

  #line(line: string): void {
    if (line === '') {
      if (this.#data !== '') this.events.push({ id: this.#id, type: this.#type, data: JSON.parse(this.#data) });
      this.#id = null;
      this.#type = '';
      this.#data = '';
    } else if (line.startsWith(':')) this.comments.push(line);
    else if (line.startsWith('id: ')) this.#id = Number(line.slice(4));
    else if (line.startsWith('event: ')) this.#type = line.slice(7);
    else if (line.startsWith('data: ')) this.#data += line.slice(6);
    else if (!line.startsWith('retry: ')) throw new Error(`No field of a stream: ${line}`);
  }
}

/** Opens an event stream; the answer may also be a problem document, so look at the status. */
export async function openStream(
  url: string,
  options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<SseReader> {
  const { method = 'GET', body, headers = {} } = options;
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const request = httpRequest(url, { method, headers: { accept: 'text/event-stream', ...json, ...headers } });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return new SseReader(response);
}
