import { AppError, REFUSAL_CODES, type RefusalCode } from '@turnwire/shared/domain/errors';

export const PROBLEM_CODES = [...REFUSAL_CODES, 'internal'] as const;
export type ProblemCode = RefusalCode | 'internal';

interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

/** What each code is over HTTP. `docs/problems.md` says what a client can do about it. */
export const PROBLEM_KINDS: Readonly<Record<ProblemCode, ProblemKind>> = {
  invalid_request: { status: 422, title: 'The request is not valid' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unauthorized: { status: 401, title: 'A valid API key is needed' },
  forbidden: { status: 403, title: 'This caller may not do this' },
  not_found: { status: 404, title: 'There is no such thing' },
  session_busy: { status: 409, title: 'The session is busy' },
  session_terminal: { status: 409, title: 'The session has ended' },
  session_not_waiting: { status: 409, title: 'The session waits for no decision' },
  interrupt_stale: { status: 409, title: 'The decision is about something else' },
  interrupt_expired: { status: 409, title: 'The time to decide has passed' },
  decision_conflict: { status: 409, title: 'This was decided already' },
  idempotency_in_flight: { status: 409, title: 'The first call with this key is still running' },
  idempotency_mismatch: { status: 422, title: 'The key was used for another call' },
  rate_limited: { status: 429, title: 'Too many requests' },
  unavailable: { status: 503, title: 'A part of the server is not available' },
  internal: { status: 500, title: 'The server failed' },
};

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Absent where there was no path to read. */
  readonly instance?: string;
  readonly code: ProblemCode;
  readonly [fact: string]: unknown;
}

/**
 * A refusal that lies in the protocol (a header, the encoding of the body) rather than in what the JSON says, for which
 * `invalid_request` alone has a status of its own: 400 and the like instead of 422.
 */
export class ProtocolError extends AppError {
  readonly status: number;

  constructor(status: number, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(status === 413 ? 'payload_too_large' : 'invalid_request', message, { details });
    this.status = status;
  }
}

/** The problem document of an error (RFC 9457). What is no refusal is `internal` and says nothing of its cause. */
export function problemOf(error: unknown, path?: string): Problem {
  const refusal = refusalOf(error);
  const code = PROBLEM_CODES.find((candidate) => candidate === refusal?.code) ?? 'internal';
  const { status: usual, title } = PROBLEM_KINDS[code];
  const type = `urn:turnwire:problem:${code}`;
  const instance = path === undefined ? {} : { instance: path };
  if (refusal === null || code === 'internal') {
    const detail = 'The server failed to answer; its log says why.';
    return { type, title, status: usual, detail, ...instance, code };
  }
  const status = refusal instanceof ProtocolError ? refusal.status : usual;
  // The facts come first: none of them replaces a member that every problem has.
  return { ...factsOf(refusal), type, title, status, detail: refusal.message, ...instance, code };
}

/** A store names the field that it refuses by `path` alone; clients find all such fields in one place. */
function factsOf({ details, message }: AppError): Readonly<Record<string, unknown>> {
  const { path, ...facts } = details;
  return typeof path === 'string' ? { ...facts, errors: [{ path, message }] } : details;
}

function refusalOf(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  // A client's mistake that Fastify found.
  if (!(error instanceof Error) || !('statusCode' in error)) return null;
  const { statusCode, message } = error;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return null;
  return new ProtocolError(statusCode, message.endsWith('.') ? message : `${message}.`);
}
