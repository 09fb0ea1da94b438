/** Codes of calls that are refused; the caller did or could do something about it. Stable: clients rely on them. */
export const REFUSAL_CODES = [
  'invalid_request',
  'payload_too_large',
  'unauthorized',
  'forbidden',
  'not_found',
  'session_busy',
  'session_terminal',
  'session_not_waiting',
  'interrupt_stale',
  'interrupt_expired',
  'decision_conflict',
  'idempotency_in_flight',
  'idempotency_mismatch',
  'rate_limited',
  'unavailable',
] as const;

/** Codes that a failed turn carries in `error.code`. `interrupt_expired` is one too (an agent's `onExpire: "fail"`). */
export const FAILURE_CODES = [
  'model_error',
  'model_auth',
  'model_overloaded',
  'context_overflow',
  'empty_response',
  'max_steps',
  'loop_detected',
  'budget_exceeded',
  'turn_timeout',
  'attempts_exhausted',
  'agent_not_found',
  'refused_by_hook',
  'internal',
] as const;

/** Never shown to a client: signals between the store and whoever holds a lease. */
const INTERNAL_CODES = ['lease_lost', 'transition_refused'] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];
export type FailureCode = (typeof FAILURE_CODES)[number] | 'interrupt_expired';
export type ErrorCode = RefusalCode | FailureCode | (typeof INTERNAL_CODES)[number];

export interface AppErrorOptions {
  /** Whether the same call may succeed later without a change to it. Default false. */
  readonly retry?: boolean;
  readonly cause?: unknown;
  /** Facts for the caller, such as the session's state or the field's path. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The one error base. `message` is one clear sentence that a client may see. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly retry: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retry = options.retry ?? false;
    this.details = options.details ?? {};
  }
}

export function isAppError(error: unknown, code?: ErrorCode): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code);
}

/** The store, queue or bus cannot be reached now. */
export function unavailable(what: string, cause: unknown): AppError {
  return new AppError('unavailable', `${what} is not available at the moment.`, { retry: true, cause });
}

/** A holder whose lease passed to another, or whose session is gone. */
export function leaseLost(sessionId: string, token: number): AppError {
  return new AppError('lease_lost', `Lease ${token} of session ${sessionId} is held no longer.`);
}
