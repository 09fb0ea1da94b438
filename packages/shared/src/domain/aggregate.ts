import { AppError, leaseLost } from './errors.ts';
import { type EventDraft, eventId, type OutboxEntry } from './event.ts';
import type { Message, NewMessage } from './message.ts';
import type { Session } from './session.ts';
import type { ToolCall } from './tool-call.ts';
import { isTerminalStatus, type Turn } from './turn.ts';

/**
 * All that a decision on one session may look at: the session, its turns that have not ended (by number, so the first
 * is the active one), and the ledger of the active turn (by step and position).
 */
export interface SessionAggregate {
  readonly session: Session;
  readonly turns: readonly Turn[];
  readonly toolCalls: readonly ToolCall[];
}

/**
 * The difference that a decision makes. A store applies all of it or nothing, and only to the aggregate that the
 * decision saw. `turns` and `toolCalls` replace the records with the same id or add them.
 */
export interface SessionChange {
  readonly session: Session;
  readonly turns: readonly Turn[];
  readonly toolCalls: readonly ToolCall[];
  readonly messages: readonly Message[];
  /** Turns whose messages are removed. */
  readonly rolledBack: readonly string[];
}

/** What a decision answers. `change: null` stores nothing. */
export interface Decided<R> {
  readonly result: R;
  readonly change: SessionChange | null;
}

/** What every write of a holder carries. */
export interface HolderWrite {
  readonly token: number;
  /** The id that the first event of this write gets. */
  readonly nextEventId: number;
  /** Outbox entries up to this id are in the log and can be dropped. */
  readonly publishedId: number;
}

/** Collects a change step by step; local to one decision, so mutable. */
export class ChangeBuilder {
  #session: Session;
  readonly #now: number;
  readonly #turns = new Map<string, Turn>();
  readonly #toolCalls = new Map<string, ToolCall>();
  readonly #messages: Message[] = [];
  readonly #rolledBack: string[] = [];
  readonly #before: SessionAggregate;
  #nextEventId: number | null = null;

  constructor(aggregate: SessionAggregate, now: number) {
    this.#before = aggregate;
    this.#session = aggregate.session;
    this.#now = now;
  }

  get session(): Session {
    return this.#session;
  }

  /** Turns that have not ended, as of now. */
  get openTurns(): readonly Turn[] {
    const known = this.#before.turns.map((turn) => this.#turns.get(turn.id) ?? turn);
    const added = [...this.#turns.values()].filter((turn) => !this.#before.turns.some(({ id }) => id === turn.id));
    return [...known, ...added].filter((turn) => !isTerminalStatus(turn.status));
  }

  get toolCalls(): readonly ToolCall[] {
    const known = this.#before.toolCalls.map((call) => this.#toolCalls.get(call.id) ?? call);
    const added = [...this.#toolCalls.values()].filter(
      (call) => !this.#before.toolCalls.some(({ id }) => id === call.id),
    );
    return [...known, ...added];
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Makes this a holder's write: refuses a lost lease, drops published outbox entries, numbers those without id. */
  asHolder(write: HolderWrite): this {
    if (this.#session.lease.token !== write.token || this.#session.lease.holder === null) {
      throw leaseLost(this.#session.id, write.token);
    }
    if (write.nextEventId <= this.#session.lastEventId) {
      throw new AppError(
        'transition_refused',
        `Event id ${write.nextEventId} of session ${this.#session.id} was given.`,
      );
    }
    return this.numberEvents(write.nextEventId, write.publishedId);
  }

  numberEvents(nextEventId: number, publishedId: number): this {
    this.#nextEventId = nextEventId;
    const kept = this.#session.outbox.filter(({ id }) => id === null || id > publishedId);
    this.setSession({ outbox: [] });
    for (const entry of kept) this.#pushOutbox(entry);
    return this;
  }

  setSession(patch: Partial<Session>): void {
    this.#session = { ...this.#session, ...patch, updatedAt: this.#now };
  }

  putTurn(turn: Turn): void {
    this.#turns.set(turn.id, turn);
  }

  putToolCall(call: ToolCall): void {
    this.#toolCalls.set(call.id, call);
  }

  addMessage(turnId: string, message: NewMessage): Message {
    const seq = this.#session.lastSeq + 1;
    const placed: Message = { ...message, sessionId: this.#session.id, turnId, seq, createdAt: this.#now };
    this.#messages.push(placed);
    this.setSession({ lastSeq: seq });
    return placed;
  }

  rollBack(turnId: string): void {
    this.#rolledBack.push(turnId);
    for (let i = this.#messages.length - 1; i >= 0; i -= 1) {
      if (this.#messages[i]?.turnId === turnId) this.#messages.splice(i, 1);
    }
  }

  /** Stores an event with this change. A holder's gets its id now, others get one from the next holder. */
  emit(event: EventDraft): void {
    this.#pushOutbox({ id: null, event });
  }

  /** The outbox entries that have an id, in order: what the holder publishes now. */
  get numbered(): readonly OutboxEntry[] {
    return this.#session.outbox.filter(({ id }) => id !== null);
  }

  decided<R>(result: R): Decided<R> {
    return { result, change: this.build() };
  }

  build(): SessionChange {
    this.#session = { ...this.#session, dueAt: dueAt(this.#session, this.openTurns[0] ?? null, this.#now) };
    return {
      session: this.#session,
      turns: [...this.#turns.values()],
      toolCalls: [...this.#toolCalls.values()],
      messages: this.#messages,
      rolledBack: this.#rolledBack,
    };
  }

  #pushOutbox(entry: OutboxEntry): void {
    let { id } = entry;
    if (id === null && this.#nextEventId !== null) {
      id = this.#nextEventId;
      this.#nextEventId += 1;
      this.setSession({ lastEventId: id });
    }
    this.setSession({ outbox: [...this.#session.outbox, { id, event: entry.event }] });
  }
}

/** When a worker is needed even if nobody wakes one. Pure, so that each store sweeps by one indexed field. */
function dueAt(session: Session, head: Turn | null, now: number): number | null {
  if (session.lease.holder !== null) return session.lease.expiresAt;
  if (session.outbox.length > 0) return now;
  if (head === null) return null;
  if (head.status === 'WAITING') return session.interrupt?.expiresAt ?? null;
  return now;
}

export function firstEventId(token: number): number {
  return eventId(token, 1);
}

/** The turn that a holder writes to: the session's active one, while it runs. */
export function runningTurn(aggregate: SessionAggregate, turnId: string): Turn {
  const head = aggregate.turns[0];
  if (head?.id !== turnId || head.status !== 'RUNNING') {
    throw new AppError('transition_refused', `Turn ${turnId} is not running.`);
  }
  return head;
}

/** Remembers that what follows in the log is of the turn's next step. */
export function markStep(builder: ChangeBuilder, turnId: string): Turn {
  const turn = builder.openTurns.find(({ id }) => id === turnId);
  if (turn === undefined) throw new AppError('transition_refused', `Turn ${turnId} has ended already.`);
  const marked = { ...turn, eventsFrom: builder.session.lastEventId };
  builder.putTurn(marked);
  return marked;
}
