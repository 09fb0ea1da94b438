import { AppError } from '@turnwire/shared/domain/errors';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { HookContext } from '@turnwire/shared/ports/hooks';
import { turnContext } from './turn-context.ts';

/** A hook that has not answered by then counts as failed. */
const HOOK_TIMEOUT_MS = 10_000;

/**
 * Calls one of the operator's hooks for the turn in the context. Absent hooks are skipped at no cost. Rejects as well
 * when the signal aborts: a cancel must not wait for a hook.
 */
export async function callHook<R>(
  clock: Clock,
  signal: AbortSignal,
  hook: (context: HookContext) => Promise<R> | R,
): Promise<R> {
  signal.throwIfAborted();
  const { tenantId, userId, sessionId, turnId } = turnContext();
  const answer = hook({ tenantId, userId, sessionId, turnId, signal });
  if (!(answer instanceof Promise)) return answer;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const stopTimer = clock.after(HOOK_TIMEOUT_MS, () =>
    reject(new AppError('internal', `A hook did not answer within ${HOOK_TIMEOUT_MS} ms.`)),
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
