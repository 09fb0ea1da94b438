import type { AgentMode } from '../domain/agent.ts';
import { firstEventId, type HolderWrite } from '../domain/aggregate.ts';
import type { Claim } from '../domain/decide-claim.ts';
import type { TurnOutcome } from '../domain/decide-finish.ts';
import type { HolderResult, Released, Renewal } from '../domain/decide-lease.ts';
import type { InterruptReason, OnExpire } from '../domain/interrupt.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Session } from '../domain/session.ts';
import type { SessionKey } from '../domain/tenant.ts';
import type { SettledState, ToolCall } from '../domain/tool-call.ts';
import type { Turn } from '../domain/turn.ts';
import { NO_USAGE, type Usage } from '../domain/usage.ts';
import type { TurnStore } from '../ports/turn-store.ts';
import { EventTail } from './event-tail.ts';

export type HolderPort = Omit<TurnStore, 'history' | 'takeDue'>;

export interface FinishOptions {
  readonly text?: string;
  readonly truncated?: boolean;
  readonly usage?: Usage;
  readonly mode?: AgentMode;
  readonly extract?: boolean;
}

export interface SuspendOptions {
  readonly reason?: InterruptReason;
  readonly callIds?: readonly string[];
  readonly ttlMs?: number | null;
  readonly onExpire?: OnExpire;
}

const NEVER_CLAIMED = 'This holder has claimed nothing.';

/**
 * Plays a worker against the TurnStore: claims, numbers its events, publishes what its writes put into the outbox, and
 * keeps what the last answer said. It calls no model and runs no tool.
 */
export class TurnHolder {
  readonly name: string;
  readonly tail: EventTail;
  readonly #turns: HolderPort;
  readonly #key: SessionKey;
  #claim: Claim | null = null;
  #turn: Turn | null = null;
  #toolCalls: readonly ToolCall[] = [];
  #nextEventId = 0;

  constructor(turns: HolderPort, key: SessionKey, name: string, tail = new EventTail(key.sessionId)) {
    this.#turns = turns;
    this.#key = key;
    this.name = name;
    this.tail = tail;
  }

  get claimed(): Claim | null {
    return this.#claim;
  }

  get token(): number {
    return this.#held().lease.token;
  }

  /** The turn as the last write answered it. */
  get turn(): Turn {
    if (this.#turn === null) throw new Error('This holder runs no turn.');
    return this.#turn;
  }

  get toolCalls(): readonly ToolCall[] {
    return this.#toolCalls;
  }

  get write(): HolderWrite {
    return { token: this.token, nextEventId: this.#nextEventId, publishedId: this.tail.lastId };
  }

  async claim(leaseMs: number): Promise<Claim | null> {
    const claim = await this.#turns.claim(this.#key, { holder: this.name, leaseMs });
    if (claim === null) return null;
    this.#claim = claim;
    this.#turn = claim.turn;
    this.#toolCalls = claim.toolCalls;
    // A claim that only ends a turn emits nothing: its first event is still the first one of its own token.
    this.#nextEventId = Math.max(firstEventId(claim.lease.token), claim.session.lastEventId + 1);
    this.tail.publish(claim.lease.token, claim.outbox);
    return claim;
  }

  renew(leaseMs: number): Promise<Renewal> {
    return this.#turns.renew(this.#key, { token: this.token, leaseMs });
  }

  async adoptOutbox(): Promise<void> {
    const outbox = await this.#turns.adoptOutbox(this.#key, { write: this.write });
    this.#nextEventId = Math.max(this.#nextEventId, (outbox.at(-1)?.id ?? 0) + 1);
    this.tail.publish(this.token, outbox);
  }

  /** A piece of the answer: an event that goes to the log alone. */
  delta(): void {
    this.tail.append(this.token, { id: this.#nextEventId, type: 'turn.delta', turnId: this.turn.id });
    this.#nextEventId += 1;
  }

  begin(text = this.turn.text): Promise<HolderResult> {
    const turnId = this.turn.id;
    const checkpoint = { version: 1, systemPrompt: 'Be helpful.', memoryIds: [], reminders: [] } as const;
    const userMessage = { id: `msg_${turnId}`, role: 'user', content: text } as const;
    return this.#written(
      this.#turns.begin(this.#key, { write: this.write, turnId, agentRevision: 1, userMessage, checkpoint }),
    );
  }

  step(callCount: number, usage: Usage = NO_USAGE): Promise<HolderResult> {
    const { id: turnId, steps } = this.turn;
    const step = steps + 1;
    const calls = Array.from({ length: callCount }, (_, position) => ({
      id: `call_${turnId}_${step}_${position}`,
      name: 'get_weather',
      arguments: { city: `city ${position}` },
      invalid: null,
    }));
    const message = { id: `msg_${turnId}_${step}`, content: `thinking ${step}` };
    return this.#written(this.#turns.recordStep(this.#key, { write: this.write, turnId, step, message, calls, usage }));
  }

  start(callIds: readonly string[], args?: JsonObject): Promise<HolderResult> {
    const calls = callIds.map((id) => ({ id, arguments: args ?? this.#call(id).arguments }));
    return this.#written(this.#turns.startCalls(this.#key, { write: this.write, turnId: this.turn.id, calls }));
  }

  outcome(callIds: readonly string[], state: SettledState = 'done'): Promise<HolderResult> {
    const outcomes = callIds.map((callId) => ({
      callId,
      messageId: `msg_${callId}`,
      state,
      content: `result of ${callId}`,
      shown: `result of ${callId}`,
      truncated: false,
    }));
    return this.#written(this.#turns.recordOutcomes(this.#key, { write: this.write, turnId: this.turn.id, outcomes }));
  }

  suspend(options: SuspendOptions = {}): Promise<HolderResult> {
    const { reason = 'tool_approval', callIds = [], ttlMs = null, onExpire = 'reject' } = options;
    const turnId = this.turn.id;
    const interruptId = `int_${turnId}_${this.turn.steps}_${this.token}`;
    const beforeNodes = [reason === 'tool_approval' ? ('tools' as const) : ('model' as const)];
    const command = { write: this.write, turnId, interruptId, reason, beforeNodes, callIds, ttlMs, onExpire };
    return this.#written(this.#turns.suspend(this.#key, command));
  }

  finish(outcome: TurnOutcome, options: FinishOptions = {}): Promise<HolderResult> {
    const { text = '', truncated = false, usage = NO_USAGE, mode = 'conversation', extract = false } = options;
    const turnId = this.turn.id;
    const answer = { messageId: `msg_${turnId}_answer_${this.token}`, text, truncated };
    return this.#written(
      this.#turns.finish(this.#key, { write: this.write, turnId, outcome, answer, usage, mode, extract }),
    );
  }

  complete(text = 'All done.', options: Omit<FinishOptions, 'text'> = {}): Promise<HolderResult> {
    return this.finish({ status: 'COMPLETED' }, { ...options, text });
  }

  release(): Promise<Released> {
    return this.#turns.release(this.#key, { write: this.write });
  }

  async #written(write: Promise<HolderResult>): Promise<HolderResult> {
    const result = await write;
    this.#turn = result.turn;
    this.#toolCalls = result.toolCalls;
    this.#follow(result.session);
    this.tail.publish(this.token, result.outbox);
    return result;
  }

  #follow(session: Session): void {
    this.#nextEventId = Math.max(this.#nextEventId, session.lastEventId + 1);
  }

  #held(): Claim {
    if (this.#claim === null) throw new Error(NEVER_CLAIMED);
    return this.#claim;
  }

  #call(id: string): ToolCall {
    const call = this.#toolCalls.find((candidate) => candidate.id === id);
    if (call === undefined) throw new Error(`This holder knows no call ${id}.`);
    return call;
  }
}
