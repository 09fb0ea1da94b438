import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from '@turnwire/shared/ports/logger';

/** Whose turn runs. Agent runtimes are shared over sessions, so this never lives in them. */
export interface TurnContext {
  readonly tenantId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** Of the call that the worker was woken by, if that had one. */
  readonly traceparent: string | null;
  readonly log: Logger;
}

const storage = new AsyncLocalStorage<TurnContext>();

export function withTurnContext<T>(context: TurnContext, fn: () => Promise<T>): Promise<T> {
  return storage.run(context, fn);
}

/** The context of the turn that the caller works for. Throws outside of one. */
export function turnContext(): TurnContext {
  const context = storage.getStore();
  if (context === undefined) throw new Error('There is no turn here: call this from within withTurnContext.');
  return context;
}
