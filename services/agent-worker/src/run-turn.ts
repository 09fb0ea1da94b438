import type { Claim } from '@turnwire/shared/domain/decide-claim';
import { AppError, isAppError } from '@turnwire/shared/domain/errors';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { AgentRuntime, AgentRuntimes } from './agent-runtimes.ts';
import { beginTurn, continueTurn } from './begin-turn.ts';
import { callHook, reasonOf } from './call-hook.ts';
import { createDeltaStream, type DeltaStream } from './delta-stream.ts';
import { restoreText } from './events/restore-text.ts';
import { finishTurn } from './finish-turn.ts';
import { type Hold, takeHold } from './hold.ts';
import { limitTurnTime } from './limit-turn-time.ts';
import { openCalls } from './react/run-tools.ts';
import { suspendTurn } from './suspend-turn.ts';
import { toTurnError } from './to-turn-error.ts';
import { withTurnContext } from './turn-context.ts';
import { createTurnState, type OwnedTurnState } from './turn-state.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

export interface TurnRunner {
  readonly worker: WorkerDependencies;
  readonly runtimes: AgentRuntimes;
  /** Tells of a hold while it lasts, so that a worker that stops can hand it over. */
  readonly onHold: (hold: Hold) => () => void;
}

/**
 * Runs what a session needs next, from the claim to the release. Resolves also when there was nothing to do or the
 * lease passed to another. Throws `unavailable` when a server was away for too long: the turn goes on elsewhere.
 */
export async function runTurn(runner: TurnRunner, key: SessionKey, traceparent?: string): Promise<void> {
  const { worker } = runner;
  // 1. Claim: every later write, heartbeat and event carries the lease's token. Terminal sessions have nothing to claim.
  const { holder, leaseMs } = worker.options;
  const claim = await worker.store.turns.claim(key, { holder, leaseMs });
  if (claim === null) return;
  const { turn, session } = claim;
  const trace = traceparent === undefined ? {} : { traceId: traceparent.split('-')[1] };
  const log = worker.log.child({ ...key, turnId: turn?.id ?? null, attempt: turn?.attempt ?? null, ...trace });
  const hold = await takeHold(worker, key, claim, log);
  if (hold === null) return;
  const forget = runner.onHold(hold);
  try {
    if (turn !== null) {
      // 2. From here on tenant, user and session are in the context.
      const context = { ...key, userId: session.userId, turnId: turn.id, traceparent: traceparent ?? null, log };
      await withTurnContext(context, () => carryOut(runner, hold, claim, turn));
    }
    if (await hold.letGo()) await wakeNext(worker, key, log);
  } catch (error) {
    await abandon(hold, error, log);
  } finally {
    forget();
  }
}

/** Leaves a turn that could not be brought to an end here. Whoever wakes for it next waits a while. */
async function abandon(hold: Hold, error: unknown, log: Logger): Promise<void> {
  if (hold.stopReason === 'lease_lost') {
    log.info(
      { err: error },
      'The lease was lost in the middle of the turn: another has it, or the session was deleted.',
    );
    await hold.letGo();
    return;
  }
  // Anything but a server that is away is as good as a crash: it counts as an attempt, so that it cannot go on for ever.
  if (isAppError(error, 'unavailable')) await hold.letGo();
  else hold.drop();
  throw error;
}

async function wakeNext({ queue }: WorkerDependencies, key: SessionKey, log: Logger): Promise<void> {
  try {
    await queue.enqueue({ kind: 'turn', ...key, turnId: null });
  } catch (error) {
    log.warn({ err: error }, 'The next turn could not be enqueued; the sweeper will do it.');
  }
}

async function carryOut(runner: TurnRunner, hold: Hold, claim: Claim, turn: Turn): Promise<void> {
  const { worker } = runner;
  const state = createTurnState(worker.store.turns, hold, { turn, toolCalls: claim.toolCalls });
  if (claim.forcedEnd !== null) {
    // A turn that never ran, or has calls without results, was in the middle of no text.
    const mayHaveText = turn.attempt > 0 && openCalls(state).length === 0;
    const text = mayHaveText ? await restoreText(worker.bus, worker.clock, hold.journal, turn) : '';
    return finishTurn(runner, state, { outcome: claim.forcedEnd, text });
  }
  const timer = limitTurnTime(worker.clock, hold, turn);
  const deltas = createDeltaStream(worker, hold, state);
  try {
    // 3. The operator's hook may refuse the turn; the agent's configuration is loaded anew each time.
    await callHook(worker.clock, hold.signal, 'beforeSession', (context) =>
      worker.hooks.beforeSession?.(context, { turn, session: claim.session }),
    ).catch(refuse);
    const runtime = await runner.runtimes.load(turn);
    timer.limit(runtime.agent.turnTimeoutMs);
    // 4. New, or an interrupted or crashed one?  5. Prepare it, or take it up from its checkpoint.
    if (turn.checkpoint === null) await beginTurn(worker, hold, state, runtime.agent);
    else await continueTurn(worker, hold, state);
    await answer(runner, hold, state, runtime, deltas);
  } catch (error) {
    // What is stopped from outside may throw anything; that is no failure of the turn.
    if (hold.stopReason !== null) return await stop(runner, hold, state, deltas.text, error);
    const failure = toTurnError(error);
    if (failure === null) throw error;
    await finishTurn(runner, state, { outcome: { status: 'FAILED', error: failure }, text: deltas.text, cause: error });
  } finally {
    timer.close();
  }
}

async function answer(
  runner: TurnRunner,
  hold: Hold,
  state: OwnedTurnState,
  { agent, engine }: AgentRuntime,
  deltas: DeltaStream,
): Promise<void> {
  // 6. Run the engine: pieces to show as they come, and in the end an answer, an interrupt or an error.
  // 8. Each piece of text becomes a delta at once; the stream collects what clients were shown.
  const result = await deltas.drain(engine.run(state, hold.signal));
  const { text } = deltas;
  switch (result.kind) {
    case 'interrupt':
      // 7. The turn waits for a person; the job ends and holds no worker.
      return suspendTurn(runner, state, agent, result);
    case 'answer': {
      // 9. Commit the answer, the session's state and the terminal event together; then what follows from it.
      const { truncated, usage } = result;
      return finishTurn(runner, state, { agent, outcome: { status: 'COMPLETED' }, text, truncated, usage });
    }
    case 'error': {
      const { error, usage } = result;
      return finishTurn(runner, state, { agent, outcome: { status: 'FAILED', error }, text, usage });
    }
    case 'stopped':
      return stop(runner, hold, state, text);
  }
}

/** The work was stopped from outside: a cancel or a time-out ends the turn, a shutdown leaves it to another worker. */
async function stop(
  runner: TurnRunner,
  hold: Hold,
  state: OwnedTurnState,
  text: string,
  cause?: unknown,
): Promise<void> {
  switch (hold.stopReason) {
    case 'timeout': {
      const error = { code: 'turn_timeout', message: 'The turn took longer than its agent allows.' } as const;
      return finishTurn(runner, state, { outcome: { status: 'FAILED', error }, text, cause });
    }
    case 'cancelled':
      return finishTurn(runner, state, { outcome: { status: 'CANCELLED' }, text });
    case 'lease_lost':
      if (cause !== undefined) throw cause;
      return;
    case 'shutdown':
    case null:
      return;
  }
}

function refuse(error: unknown): never {
  throw new AppError('refused_by_hook', reasonOf(error), { cause: error });
}
