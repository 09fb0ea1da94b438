import { z } from 'zod';
import { ON_BUSY, TURN_STATUSES } from '../domain/turn.ts';
import { text, timeSchema } from './http-json.ts';

/** The body of `POST /v1/sessions/{id}/turns`. */
export const postTurnSchema = z.strictObject({
  text: text(1, 200_000).refine((value) => value.trim() !== '', 'must be more than white space'),
  onBusy: z
    .enum(ON_BUSY)
    .default('enqueue')
    .describe('On a busy session: wait in line, refuse (409), end the running turn, or end it and remove it'),
});

/** The body of a cancel: nothing, or an empty object. */
export const cancelSchema = z.strictObject({}).nullish();

export const turnSchema = z
  .strictObject({
    id: z.string(),
    sessionId: z.string(),
    number: z.int(),
    status: z.enum(TURN_STATUSES),
    text: z.string(),
    attempt: z.int(),
    steps: z.int(),
    usage: z.strictObject({ inputTokens: z.int(), outputTokens: z.int(), totalTokens: z.int() }),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    createdAt: timeSchema,
    startedAt: timeSchema.nullable(),
    finishedAt: timeSchema.nullable(),
  })
  .meta({ id: 'Turn' });
