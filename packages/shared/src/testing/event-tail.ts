import { leaseLost } from '../domain/errors.ts';
import { type EventType, isTerminalEvent, type OutboxEntry } from '../domain/event.ts';

export interface TailEntry {
  readonly id: number;
  readonly type: EventType;
  readonly turnId: string;
}

/** One session's event log as a test keeps it: fenced by tokens as a bus is, and unforgiving about lost events. */
export class EventTail {
  readonly entries: TailEntry[] = [];
  readonly #sessionId: string;
  #token = 0;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  get lastId(): number {
    return this.entries.at(-1)?.id ?? 0;
  }

  /** Takes a holder's outbox. Ids that are there are skipped; one that would have had to come earlier is an error. */
  publish(token: number, outbox: readonly OutboxEntry[]): void {
    for (const { id, event } of outbox) {
      if (id === null) throw new Error(`A ${event.type} of ${event.turnId} is to be published without an id.`);
      this.append(token, { id, type: event.type, turnId: event.turnId });
    }
  }

  append(token: number, entry: TailEntry): void {
    if (token < this.#token) throw leaseLost(this.#sessionId, token);
    this.#token = token;
    if (entry.id > this.lastId) {
      this.entries.push(entry);
      return;
    }
    const logged = this.entries.find(({ id }) => id === entry.id);
    if (logged?.type !== entry.type || logged.turnId !== entry.turnId) {
      throw new Error(`Event ${entry.id} (${entry.type} of ${entry.turnId}) comes after ${this.lastId}: it is lost.`);
    }
  }

  terminalEvents(turnId: string): readonly EventType[] {
    return this.entries
      .filter((entry) => entry.turnId === turnId && isTerminalEvent(entry.type))
      .map(({ type }) => type);
  }
}
