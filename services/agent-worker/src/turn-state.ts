import type { HolderResult } from '@turnwire/shared/domain/decide-lease';
import type { CallOutcome, PlannedCall, StartCalls } from '@turnwire/shared/domain/decide-progress';
import type { EventDraft } from '@turnwire/shared/domain/event';
import type { Message } from '@turnwire/shared/domain/message';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { Usage } from '@turnwire/shared/domain/usage';
import type { TurnStore } from '@turnwire/shared/ports/turn-store';
import type { HolderStoreWrite } from './events/turn-journal.ts';
import type { Hold } from './hold.ts';

/** The stored state of the turn that a holder runs, kept in step with the store by every write. The engine has none. */
export interface TurnState {
  readonly turn: Turn;
  readonly toolCalls: readonly ToolCall[];
  /** The conversation so far, by `seq`. */
  readonly messages: readonly Message[];
  /** Stores the assistant's message of a step and plans its calls. */
  recordStep(step: StepRecord): Promise<void>;
  startCalls(calls: StartCalls['calls']): Promise<void>;
  recordOutcomes(outcomes: readonly CallOutcome[]): Promise<void>;
}

export interface StepRecord {
  readonly step: number;
  readonly message: { readonly id: string; readonly content: string };
  readonly calls: readonly PlannedCall[];
  readonly usage: Usage;
}

/** What an event is about, without the fields that all have. */
export type EventOf<T = EventDraft> = T extends EventDraft ? Omit<T, 'turnId' | 'ts'> : never;

/** The turn handler's side of the state: what the engine does not do. */
export interface OwnedTurnState extends TurnState {
  /** Any other write of the holder to this turn. */
  write(write: HolderStoreWrite<HolderResult>): Promise<HolderResult>;
  setMessages(messages: readonly Message[]): void;
}

export function createTurnState(
  store: TurnStore,
  hold: Hold,
  initial: { readonly turn: Turn; readonly toolCalls: readonly ToolCall[] },
): OwnedTurnState {
  let { turn, toolCalls } = initial;
  let messages: readonly Message[] = [];

  async function write(fn: HolderStoreWrite<HolderResult>): Promise<HolderResult> {
    const result = await hold.journal.commit(fn);
    ({ turn, toolCalls } = result);
    messages = [...messages, ...result.messages];
    if (result.cancel !== null) hold.stop('cancelled');
    return result;
  }

  const { key } = hold;
  return {
    get turn() {
      return turn;
    },
    get toolCalls() {
      return toolCalls;
    },
    get messages() {
      return messages;
    },
    setMessages(loaded) {
      messages = loaded;
    },
    write,
    async recordStep(step) {
      await write((base) => store.recordStep(key, { write: base, turnId: turn.id, ...step }));
    },
    async startCalls(calls) {
      await write((base) => store.startCalls(key, { write: base, turnId: turn.id, calls }));
    },
    async recordOutcomes(outcomes) {
      await write((base) => store.recordOutcomes(key, { write: base, turnId: turn.id, outcomes }));
    },
  };
}
