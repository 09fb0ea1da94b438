import { parseObject } from './find-json.ts';

/** What a tool's result says, as far as simple means tell. */
export type Outcome =
  | { kind: 'ok'; text: string; fields: ReadonlyMap<string, unknown> }
  | { kind: 'error' | 'rejected' | 'cancelled' | 'unknown'; reason: string };

type FailureKind = Exclude<Outcome['kind'], 'ok'>;

const FAILURES: readonly (readonly [FailureKind, RegExp])[] = [
  [
    'rejected',
    /\b(?:rejected|declined|not approved)\b|\b(?:denied|refused) by (?:the|a) (?:user|person)\b|^denied|拒绝/i,
  ],
  ['cancelled', /\bcancell?ed\b|已取消|被取消/i],
  ['unknown', /\b(?:outcome|took effect)\b.*\bunknown\b|\bworker was lost\b|^unknown$|结果未知/i],
  ['unknown', /^no result of this call/i],
  ['error', /^\W*(?:tool )?(?:error|failed|failure|exception|invalid|unknown tool|there is no tool)\b/i],
  ['error', /\b(?:timed out|did not answer within)\b|^\W*(?:错误|失败|出错)|超时/i],
];

const MAX_TEXT = 300;

/** Said before a result when a person let the call run with other arguments. */
const EDITED = /^A person changed the arguments to (\{.*\})\.\n/;

/** The arguments that a person put in the place of the model's, if the result says so. */
export function editedArguments(content: string): string | undefined {
  return EDITED.exec(content)?.[1];
}

/** Reads a result. A failure is known by how it begins or by a JSON key `error`, `rejected` or `status`. */
export function readOutcome(told: string): Outcome {
  const content = told.replace(EDITED, '');
  const object = parseObject(content);
  const head = object === undefined ? content.slice(0, 160) : failureText(object);
  const kind = failureKind(head, object !== undefined);
  if (kind !== null) return { kind, reason: cut(object === undefined ? content : reasonOf(object)) };
  return { kind: 'ok', text: cut(content), fields: fieldsOf(object ?? {}) };
}

function failureText(object: Readonly<Record<string, unknown>>): string {
  const { error, status, state, rejected, ok, isError } = object;
  if (rejected === true) return 'rejected';
  if (error !== undefined && error !== null && error !== false) return `error: ${asText(error)}`;
  if (ok === false || isError === true) return `error: ${reasonOf(object)}`;
  const named = typeof status === 'string' ? status : state;
  return typeof named === 'string' && /^(?:error|failed|rejected|denied|cancell?ed|unknown)/i.test(named) ? named : '';
}

function failureKind(head: string, structured: boolean): FailureKind | null {
  // Of prose only the first sentence counts: what follows may speak of anything.
  const start = structured ? head : (head.split(/[.\n。]\s/, 1)[0] ?? '');
  return FAILURES.find(([, words]) => words.test(start))?.[0] ?? null;
}

function reasonOf(object: Readonly<Record<string, unknown>>): string {
  const { reason, message, detail, error } = object;
  const given = [reason, message, detail, error].find((value) => value !== undefined && value !== null);
  return given === undefined ? JSON.stringify(object) : asText(given);
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message);
  return JSON.stringify(value);
}

/** Scalars by their key in lower case without `_` and `-`; of nested objects too, where the key is still free. */
function fieldsOf(object: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  const nested: Record<string, unknown>[] = [];
  for (const [key, value] of Object.entries(object)) {
    const inner = typeof value === 'object' && value !== null ? parseObject(JSON.stringify(value)) : undefined;
    if (inner !== undefined) nested.push(inner);
    else if (!Array.isArray(value)) fields.set(key.toLowerCase().replace(/[_-]/g, ''), value);
  }
  for (const inner of nested) {
    for (const [key, value] of fieldsOf(inner)) if (!fields.has(key)) fields.set(key, value);
  }
  return fields;
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
