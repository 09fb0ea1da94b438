import { isJsonObject } from '../../domain/json.ts';
import type { ModelFailure } from '../../ports/language-model.ts';
import { retryAfterMs } from './retry-after.ts';
import { StreamFault } from './stream-fault.ts';

const MAX_DETAIL = 300;

/** How providers say that the conversation is too long; there is no common code. */
const OVERFLOW =
  /context.{0,3}length|context.{0,3}(window|size)|maximum context|prompt is too long|(input|prompt|request).{0,40}too (long|many tokens)|input token count/i;

/** How providers name in a stream what would have been a status before it. */
const STATUS_WORDS: readonly (readonly [RegExp, number])[] = [
  [/overload|unavailable|capacity/i, 529],
  [/rate.?limit|too_many|quota|exhausted/i, 429],
  [/authentication|invalid_api_key|unauthori[sz]ed/i, 401],
  [/permission|forbidden/i, 403],
  [/not_found/i, 404],
  [/invalid_request|bad_request|context_length/i, 400],
];

/** What a provider said in an error body, in whatever shape. */
interface Complaint {
  readonly words: string;
  readonly message: string;
  readonly status: number | null;
}

/**
 * What a failed call means; null: its stream ended before the provider had finished. Only a provider's own words are
 * quoted, without `secret` and whatever else looks like a key: other errors' messages can hold a header's value or an
 * address with a password.
 */
export function failureOf(error: unknown, secret: string | null, now: number): ModelFailure {
  if (error === null) {
    return failure('model_error', 'The model broke off before its answer was finished.', true);
  }
  if (error instanceof StreamFault) {
    const complaint = complaintOf(error.error);
    return refusal(complaint.status ?? statusIn(complaint.words), complaint, null, secret);
  }
  if (error instanceof SyntaxError) {
    return failure('model_error', 'The model answered with something that is no JSON.', true);
  }
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (typeof status !== 'number') return connectionFailure(error);
  const headers =
    error instanceof Error && 'headers' in error && error.headers instanceof Headers ? error.headers : null;
  const complaint = complaintOf(error instanceof Error && 'error' in error ? error.error : null);
  const found = refusal(status, complaint, headers === null ? null : retryAfterMs(headers, now), secret);
  return headers?.get('x-should-retry') === 'false' ? { ...found, retry: false } : found;
}

function refusal(status: number, complaint: Complaint, waitMs: number | null, secret: string | null): ModelFailure {
  const said = quote(complaint.message, secret);
  if (status === 401)
    return failure('model_auth', 'The model endpoint refused the key that it was given (401).', false);
  if (status === 403) return failure('model_auth', `The model endpoint refused access (403)${said}`, false);
  // A quota that is used up answers 429 too, but no wait of a turn's length mends it.
  const hopeless = /insufficient_quota|billing/i.test(complaint.words);
  if (status === 429 || status === 503 || status === 529) {
    return {
      ...failure('model_overloaded', `The model endpoint is overloaded (${status})${said}`, !hopeless),
      retryAfterMs: waitMs,
    };
  }
  if (OVERFLOW.test(`${complaint.words} ${complaint.message}`)) {
    return failure('context_overflow', `The conversation is too long for the model${said}`, false);
  }
  const retry = status === 408 || status === 409 || status >= 500;
  return { ...failure('model_error', `The model endpoint answered ${status}${said}`, retry), retryAfterMs: waitMs };
}

function connectionFailure(error: unknown): ModelFailure {
  const codes = causes(error).map((cause) => ('code' in cause ? String(cause.code) : ''));
  const text = causes(error)
    .map(({ message }) => message)
    .join(' ');
  if (/timed? ?out/i.test(text) || codes.some((code) => /TIMEDOUT|TIMEOUT/.test(code))) {
    return failure('model_error', 'The model endpoint did not answer in time.', true);
  }
  const code = codes.find((one) => /^[A-Z][A-Z0-9_]+$/.test(one));
  const because = code === undefined ? '' : ` (${code})`;
  const reached = error instanceof Error && ('status' in error || error.cause !== undefined || code !== undefined);
  return reached
    ? failure('model_error', `The connection to the model endpoint failed${because}.`, true)
    : failure('model_error', 'The request to the model could not be made: check its address and key.', false);
}

function failure(code: ModelFailure['code'], message: string, retry: boolean): ModelFailure {
  return { code, message, retry, retryAfterMs: null };
}

function complaintOf(error: unknown): Complaint {
  if (typeof error === 'string') return { words: '', message: error, status: null };
  if (!isJsonObject(error)) return { words: '', message: '', status: null };
  const { message, code, type, status } = error;
  const number = [code, status].map(Number).find((one) => Number.isInteger(one) && one >= 400 && one < 600);
  const words = [code, type, status].filter((word) => typeof word === 'string').join(' ');
  return { words, message: typeof message === 'string' ? message : '', status: number ?? null };
}

function statusIn(words: string): number {
  return STATUS_WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? 500;
}

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let one = error; one instanceof Error && found.length < 5; one = one.cause) found.push(one);
  return found;
}

/** A provider's words as the end of a sentence: on one line, cut, and without keys. */
function quote(message: string, secret: string | null): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return '.';
  const known = secret === null || secret === '' ? line : line.replaceAll(secret, '***');
  const clean = known
    .replaceAll(/\b(sk|pk|key|gsk|xai)-[\w*-]{6,}/gi, '***')
    .replaceAll(/\b(Bearer|Basic)\s+\S+/gi, '$1 ***');
  return `: ${clean.length > MAX_DETAIL ? `${clean.slice(0, MAX_DETAIL)}…` : clean}`;
}
