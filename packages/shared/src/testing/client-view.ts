import { isTerminalEvent, type SessionEvent } from '../domain/event.ts';
import type { SessionKey } from '../domain/tenant.ts';
import type { EventBus } from '../ports/event-bus.ts';

/** What a client has of a session that follows its stream to the letter: drops what is taken back, reconnects by id. */
export class ClientView {
  readonly events: SessionEvent[] = [];
  readonly #key: SessionKey;
  readonly #texts = new Map<string, Map<number, string>>();

  constructor(key: SessionKey) {
    this.#key = key;
  }

  get lastId(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  /** Follows the session from the last id on, as a new connection does: subscribes first, then reads the log. */
  async follow(bus: EventBus): Promise<void> {
    const early: SessionEvent[] = [];
    let live = false;
    await bus.subscribe(this.#key, {
      onEvents: (events) => (live ? this.#take(events) : early.push(...events)),
      onAnnouncement: () => undefined,
    });
    for await (const page of bus.replay(this.#key, this.lastId)) this.#take(page);
    this.#take(early);
    live = true;
  }

  types(turnId?: string): readonly string[] {
    return this.events.filter((event) => turnId === undefined || event.turnId === turnId).map(({ type }) => type);
  }

  terminalEvents(turnId: string): readonly SessionEvent[] {
    return this.events.filter((event) => event.turnId === turnId && isTerminalEvent(event.type));
  }

  /** The texts of a turn's steps that the client kept, by step, without empty ones. */
  textsOf(turnId: string): readonly string[] {
    const texts = [...(this.#texts.get(turnId) ?? [])].sort(([a], [b]) => a - b);
    return texts.map(([, text]) => text).filter((text) => text !== '');
  }

  #take(events: readonly SessionEvent[]): void {
    for (const event of events) {
      if (event.id <= this.lastId) continue;
      if (event.prev > this.lastId) throw new Error(`A hole before ${event.id}: ${event.prev} never came.`);
      this.events.push(event);
      this.#apply(event);
    }
  }

  #apply(event: SessionEvent): void {
    const texts = this.#texts.get(event.turnId) ?? new Map<number, string>();
    this.#texts.set(event.turnId, texts);
    if (event.type === 'turn.delta') texts.set(event.data.step, (texts.get(event.data.step) ?? '') + event.data.text);
    if (event.type === 'turn.reset') texts.set(event.data.step, '');
  }
}
