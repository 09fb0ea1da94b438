import { AppError, isAppError } from '@turnwire/shared/domain/errors';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { HookContext, Hooks } from '@turnwire/shared/ports/hooks';
import { messageOf } from './to-turn-error.ts';
import { turnContext } from './turn-context.ts';

/** A hook that has not answered by then counts as failed. */
const HOOK_TIMEOUT_MS = 10_000;

/**
 * Calls one of the operator's hooks for the turn in the context. Absent hooks are skipped at no cost. Rejects with what
 * the hook threw, under its name; and with the signal's reason when that aborts: a cancel must not wait for a hook.
 */
export async function callHook<R>(
  clock: Clock,
  signal: AbortSignal,
  name: keyof Hooks,
  hook: (context: HookContext) => PromiseLike<R> | R,
): Promise<R> {
  signal.throwIfAborted();
  const { tenantId, userId, sessionId, turnId } = turnContext();
  try {
    const answer = hook({ tenantId, userId, sessionId, turnId, signal });
    return isThenable(answer) ? await inTime(clock, signal, name, answer) : answer;
  } catch (cause) {
    signal.throwIfAborted();
    throw new AppError('internal', `The hook ${name} failed; the server's log has the details.`, { cause });
  }
}

/** What a hook has to say for itself. */
export function reasonOf(failure: unknown): string {
  return messageOf(isAppError(failure) && failure.cause !== undefined ? failure.cause : failure);
}

/** Operators' code may come with promises of its own kind. */
function isThenable<R>(answer: PromiseLike<R> | R): answer is PromiseLike<R> {
  return typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function';
}

async function inTime<R>(clock: Clock, signal: AbortSignal, name: keyof Hooks, answer: PromiseLike<R>): Promise<R> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.after(HOOK_TIMEOUT_MS, () =>
    reject(new Error(`The hook ${name} did not answer within ${HOOK_TIMEOUT_MS} ms.`)),
  );
  const stopped = () => reject(signal.reason);
  signal.addEventListener('abort', stopped, { once: true });
  try {
    return await Promise.race([answer, ended]);
  } finally {
    stopTimer();
    signal.removeEventListener('abort', stopped);
  }
}
