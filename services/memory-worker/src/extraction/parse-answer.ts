import { AppError } from '@turnwire/shared/domain/errors';
import { z } from 'zod';

const text = z.string().trim();
const optionalText = text.nullish().transform((value) => (value === undefined || value === '' ? null : value));
const reference = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number),
]);
const isoTime = /^\d{4}(-\d{2}(-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?)?)?$/;

const proposedMemory = z.object({
  op: z.enum(['add', 'update', 'delete']),
  targetRef: reference.nullish().transform((value) => value ?? null),
  text: text.default(''),
  quote: text,
  kind: optionalText,
  subject: optionalText,
  slot: optionalText,
  value: z.union([optionalText, z.number().transform(String), z.boolean().transform(String)]),
  cardinality: z
    .enum(['one', 'many'])
    .nullish()
    .transform((value) => value ?? 'many'),
  keywords: z
    .array(text)
    .nullish()
    .transform((value) => value ?? []),
  // A date that cannot be read is no reason to lose the fact.
  eventTime: optionalText.transform((value) => (value !== null && isoTime.test(value) ? value : null)),
});

/** A change to the user's memories as the model proposes it; nothing of it is trusted yet. */
export type ProposedMemory = z.output<typeof proposedMemory>;

const envelope = z.object({ memories: z.array(z.unknown()) });

export interface ParsedAnswer {
  readonly proposed: readonly ProposedMemory[];
  /** Items that do not have the shape. */
  readonly malformed: number;
}

/**
 * Reads the answer, also out of code fences and surrounding prose. Throws `model_error`, to be tried again, where there
 * is none; single items that do not have the shape are left out and counted.
 */
export function parseAnswer(answer: string): ParsedAnswer {
  const items = findItems(answer);
  if (items === null) throw new AppError('model_error', 'The model gave no memory_extraction answer.', { retry: true });
  const parsed = items.map((item) => proposedMemory.safeParse(item));
  const proposed = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return { proposed, malformed: parsed.length - proposed.length };
}

function findItems(answer: string): readonly unknown[] | null {
  for (const candidate of candidatesIn(answer)) {
    const json = parseJson(candidate);
    if (Array.isArray(json)) return json;
    const { data } = envelope.safeParse(json);
    if (data !== undefined) return data.memories;
  }
  return null;
}

/** Where the JSON may be: the whole, what is fenced, or, the last first, since drafts come before answers, each object. */
function* candidatesIn(answer: string): Generator<string> {
  yield answer;
  const fenced = [...answer.matchAll(/```\w*\n?(.*?)```/gs)].map(([, inside]) => inside ?? '');
  yield* fenced.reverse();
  const starts = [...answer.matchAll(/\{\s*"memories"\s*:/g)].map(({ index }) => index);
  for (const start of starts.reverse().slice(0, 5)) yield answer.slice(start, endOfObject(answer, start));
}

/** The place behind the brace that closes the one at `start`; the end of the text if none does. */
function endOfObject(answer: string, start: number): number {
  const marks = /"(?:[^"\\]|\\.)*"|[{}]/gs;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(answer); mark !== null; mark = marks.exec(answer)) {
    if (mark[0] === '{') depth += 1;
    if (mark[0] === '}') depth -= 1;
    if (depth === 0) return marks.lastIndex;
  }
  return answer.length;
}

function parseJson(candidate: string): unknown {
  try {
    return JSON.parse(candidate);
  } catch {
    return undefined;
  }
}
