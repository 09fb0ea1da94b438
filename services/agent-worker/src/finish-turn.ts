import type { Agent } from '@turnwire/shared/domain/agent';
import type { TurnOutcome } from '@turnwire/shared/domain/decide-finish';
import { AppError } from '@turnwire/shared/domain/errors';
import type { Turn } from '@turnwire/shared/domain/turn';
import { NO_USAGE, type Usage } from '@turnwire/shared/domain/usage';
import type { HookContext, Hooks } from '@turnwire/shared/ports/hooks';
import { callHook } from './call-hook.ts';
import type { TurnRunner } from './run-turn.ts';
import { turnContext } from './turn-context.ts';
import type { OwnedTurnState } from './turn-state.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

export interface Ending {
  readonly outcome: TurnOutcome;
  /** Absent where the turn ends before its agent was loaded. */
  readonly agent?: Agent;
  /** What clients were shown of the step in progress. */
  readonly text?: string;
  readonly truncated?: boolean;
  /** Of the step in progress. */
  readonly usage?: Usage;
  /** The error behind a failure, for the log. */
  readonly cause?: unknown;
}

/**
 * Ends the turn: one write has its last message, its status, the session's state and the terminal event, which is
 * published after it. What follows (hooks, memory extraction) touches the turn no more.
 */
export async function finishTurn({ worker }: TurnRunner, state: OwnedTurnState, ending: Ending): Promise<void> {
  const { tenantId, sessionId } = turnContext();
  const agent = ending.agent ?? (await loadAgent(worker, state.turn));
  // Made once: the write may be tried again.
  const messageId = worker.ids.next('msg');
  const { turn } = await state.write((write) =>
    worker.store.turns.finish(
      { tenantId, sessionId },
      {
        write,
        turnId: state.turn.id,
        outcome: ending.outcome,
        answer: {
          messageId,
          text: ending.text ?? '',
          truncated: ending.truncated ?? false,
        },
        usage: ending.usage ?? NO_USAGE,
        mode: agent?.mode ?? 'conversation',
        extract: agent?.memory.extract ?? false,
      },
    ),
  );
  report(worker, turn, ending);
  await afterwards(worker, turn, ending.cause);
}

async function loadAgent({ store }: WorkerDependencies, { tenantId, agentId, agentRevision }: Turn) {
  return agentRevision === null
    ? store.agents.get(tenantId, agentId)
    : store.agents.getRevision(tenantId, agentId, agentRevision);
}

function report({ metrics }: WorkerDependencies, turn: Turn, { cause }: Ending): void {
  const { log } = turnContext();
  const { status, steps, usage, error } = turn;
  if (status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED') metrics.turnEnded(status);
  metrics.tokens('input', usage.inputTokens);
  metrics.tokens('output', usage.outputTokens);
  if (error === null) log.info({ status, steps, usage }, 'The turn ended.');
  else log.warn({ status, steps, usage, code: error.code, err: cause }, `The turn failed: ${error.message}`);
}

async function afterwards(worker: WorkerDependencies, turn: Turn, cause: unknown): Promise<void> {
  const { hooks, queue } = worker;
  const { tenantId, userId, log } = turnContext();
  const { error } = turn;
  if (error !== null) {
    const failure = new AppError(error.code, error.message, { cause });
    await tellHook(worker, 'onError', (context) => hooks.onError?.(context, { where: 'turn', error: failure }));
  }
  await tellHook(worker, 'afterSession', (context) => hooks.afterSession?.(context, { turn }));
  if (turn.extraction !== 'pending') return;
  try {
    await queue.enqueue({ kind: 'extraction', tenantId, userId });
  } catch (failure) {
    log.warn({ err: failure }, 'The memory extraction could not be enqueued; the sweeper will do it.');
  }
}

/** Nothing stops these hooks, and their errors change nothing: the turn has ended. */
async function tellHook(
  { clock }: WorkerDependencies,
  name: keyof Hooks,
  hook: (context: HookContext) => Promise<void> | void,
): Promise<void> {
  try {
    await callHook<void>(clock, new AbortController().signal, name, hook);
  } catch (failure) {
    turnContext().log.warn({ err: failure }, `The hook ${name} failed after the turn had ended.`);
  }
}
