import { eventually } from './eventually.ts';

export interface StreamEvent {
  /** Null: not durable. */
  readonly id: number | null;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  readonly data: any;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
}

/** `open`, or who ended it: `server` in good order, `broken` by a lost connection, `client` by {@link EventStream.close}. */
export type StreamEnd = 'open' | 'server' | 'broken' | 'client';

/** One response of server-sent events, read as the specification says. Keeps all that came. */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly path: string;
  readonly headers: Headers;
  readonly events: StreamEvent[] = [];
  readonly comments: string[] = [];
  end: StreamEnd = 'open';
  readonly #abort: AbortController;
  #changed = Promise.withResolvers<void>();
  #fields: { id: number | null; type: string; data: string[] } = { id: null, type: 'message', data: [] };

  constructor(path: string, response: Response, abort: AbortController) {
    this.path = path;
    this.headers = response.headers;
    this.#abort = abort;
    void this.#read(response.body as ReadableStream<Uint8Array>);
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  /** Ids of the durable events. */
  get ids(): readonly number[] {
    return this.events.flatMap(({ id }) => (id === null ? [] : [id]));
  }

  /** What a client shows that keeps the deltas and drops what is taken back. */
  get text(): string {
    return [...keptTexts(this.events).values()].flatMap((steps) => [...steps.values()]).join('');
  }

  of(type: string): readonly StreamEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    for (let next = 0; ; next += 1) {
      while (next >= this.events.length) {
        if (this.end !== 'open') return;
        await this.#changed.promise;
      }
      const event = this.events[next];
      if (event !== undefined) yield event;
    }
  }

  /** The first event, or the `nth`, that matches. Rejects when the stream ends before it, or nothing comes in time. */
  async until(match: string | ((event: StreamEvent) => boolean), nth = 1, timeoutMs = 25_000): Promise<StreamEvent> {
    const matches = typeof match === 'string' ? ({ type }: StreamEvent) => type === match : match;
    const timer = setTimeout(() => this.#wake(), timeoutMs);
    const limit = performance.now() + timeoutMs - 1;
    try {
      for (;;) {
        const found = this.events.filter(matches)[nth - 1];
        if (found !== undefined) return found;
        if (this.end !== 'open') throw new Error(`${this.path} ended (${this.end}) before ${match}: ${this.#shown()}`);
        if (performance.now() >= limit) throw new Error(`${this.path}: no ${match} in time: ${this.#shown()}`);
        await this.#changed.promise;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the stream is over, whoever ended it. */
  async over(timeoutMs = 25_000): Promise<this> {
    await eventually(() => {
      if (this.end === 'open') throw new Error(`${this.path} stays open: ${this.#shown()}`);
    }, timeoutMs);
    return this;
  }

  /** Breaks the connection off, as a client does that leaves. */
  close(): void {
    if (this.end === 'open') this.end = 'client';
    this.#abort.abort();
    this.#wake();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const bytes of body) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#line(line);
        this.#wake();
      }
      if (this.end === 'open') this.end = 'server';
    } catch {
      if (this.end === 'open') this.end = 'broken';
    }
    this.#wake();
  }

  #line(line: string): void {
    if (line === '') {
      const { id, type, data } = this.#fields;
      if (data.length > 0) this.events.push({ id, type, data: JSON.parse(data.join('\n')), at: Date.now() });
      this.#fields = { id: null, type: 'message', data: [] };
      return;
    }
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === '') this.comments.push(value);
    else if (name === 'id') this.#fields.id = Number(value);
    else if (name === 'event') this.#fields.type = value;
    else if (name === 'data') this.#fields.data.push(value);
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  #shown(): string {
    return this.events.map(({ type, data }) => `${type} ${JSON.stringify(data)}`.slice(0, 160)).join('\n');
  }
}

/** By turn and step, in the order of the steps: the text that a client has who drops what is taken back. */
export function keptTexts(events: readonly StreamEvent[]): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const kept = new Map<string, Map<number, string>>();
  for (const { type, data } of events) {
    if (type !== 'turn.delta' && type !== 'turn.reset') continue;
    const steps = kept.get(data.turnId) ?? new Map<number, string>();
    kept.set(data.turnId, steps);
    if (type === 'turn.reset') steps.delete(data.step);
    else steps.set(data.step, (steps.get(data.step) ?? '') + data.text);
  }
  for (const [turnId, steps] of kept) kept.set(turnId, new Map([...steps].sort(([a], [b]) => a - b)));
  return kept;
}
