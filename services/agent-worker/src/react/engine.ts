import type { Agent } from '@turnwire/shared/domain/agent';
import type { EventDraft } from '@turnwire/shared/domain/event';
import type { TurnError } from '@turnwire/shared/domain/turn';
import type { Usage } from '@turnwire/shared/domain/usage';
import type { Clock, Ids } from '@turnwire/shared/ports/clock';
import type { Hooks } from '@turnwire/shared/ports/hooks';
import type { LanguageModel } from '@turnwire/shared/ports/language-model';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { Toolbox } from '@turnwire/shared/ports/tool';
import { type ArgumentValidator, createArgumentValidator } from '../tools/argument-validator.ts';
import type { EventOf, TurnState } from '../turn-state.ts';
import { runLoop } from './run-loop.ts';

/** Something to show to clients at once. */
export type Piece = EventOf<
  Extract<EventDraft, { type: 'step.started' | 'turn.delta' | 'reasoning.delta' | 'turn.reset' }>
>;

/** The turn cannot go on before a person decided. */
export interface Interruption {
  readonly kind: 'interrupt';
  readonly reason: 'tool_approval';
  readonly callIds: readonly string[];
}

/** How the engine ends. The text of an answer, and of an error in mid-answer, is what the pieces showed. */
export type EngineResult =
  | { readonly kind: 'answer'; readonly truncated: boolean; readonly usage: Usage }
  | Interruption
  | { readonly kind: 'error'; readonly error: TurnError; readonly usage: Usage }
  /** The signal aborted. */
  | { readonly kind: 'stopped' };

/** Runs the ReAct loop for one revision of an agent. Has no state of its own: that is the turn's. */
export interface Engine {
  /** Yields pieces in order; returns how it ended. Throws only for servers of ours that are away, or a lost lease. */
  run(state: TurnState, signal: AbortSignal): AsyncGenerator<Piece, EngineResult>;
}

export interface EngineDependencies {
  readonly model: LanguageModel;
  readonly toolbox: Toolbox;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
}

/** What the parts of the engine share: its dependencies, the agent, and what was compiled for it. */
export interface EngineContext extends EngineDependencies {
  readonly agent: Agent;
  readonly validate: ArgumentValidator;
}

export function createEngine(dependencies: EngineDependencies, agent: Agent): Engine {
  const { model, toolbox, hooks, clock, ids, metrics } = dependencies;
  const context: EngineContext = {
    model,
    toolbox,
    hooks,
    clock,
    ids,
    metrics,
    agent,
    validate: createArgumentValidator(),
  };
  return { run: (state, signal) => runLoop(context, state, signal) };
}
