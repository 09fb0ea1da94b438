import { z } from 'zod';
import type { Memory } from '../domain/memory.ts';
import { text, timeSchema } from './http-json.ts';
import { pageQuerySchema } from './http-page.ts';
import { userIdSchema } from './http-sessions.ts';
import { isoTime } from './views.ts';

const eventTime = z
  .string()
  .max(40)
  .regex(/^\d{4}(-\d{2}(-\d{2}(T.+)?)?)?$/, 'must be ISO 8601, as far as it is known');

const facts = {
  text: text(1, 4000).refine((value) => value.trim() !== '', 'must be more than white space'),
  kind: text(1, 100),
  subject: text(1, 500).nullable(),
  slot: text(1, 200).nullable(),
  value: text(1, 2000).nullable(),
  keywords: z.array(text(1, 100)).max(50),
  eventTime: eventTime.nullable(),
};

/** The body of `POST /v1/memories`. */
export const postMemorySchema = z.strictObject({
  userId: userIdSchema,
  text: facts.text,
  kind: facts.kind.default('fact'),
  subject: facts.subject.default(null),
  slot: facts.slot.default(null),
  value: facts.value.default(null),
  keywords: facts.keywords.default([]),
  eventTime: facts.eventTime.default(null),
});

/** The body of `PATCH /v1/memories/{id}`. */
export const patchMemorySchema = z
  .strictObject({
    ...facts,
    text: facts.text.describe('Another text takes `value`, `keywords` and `quote` of the old one with it'),
    validTo: timeSchema.nullable().describe('Closes the fact, or (null) opens it again'),
  })
  .partial()
  .refine((patch) => Object.keys(patch).length > 0, 'must change something');

/** The query of `GET /v1/memories`. */
export const listMemoriesSchema = pageQuerySchema.extend({
  userId: userIdSchema,
  query: text(1, 10_000).optional().describe('Best match first; then there is one page'),
});

/** The query of `DELETE /v1/memories`. */
export const forgetUserSchema = z.object({ userId: userIdSchema });

export const memorySchema = z
  .strictObject({
    id: z.string(),
    tenantId: z.string(),
    userId: z.string(),
    text: z.string(),
    kind: z.string(),
    subject: z.string().nullable(),
    slot: z.string().nullable(),
    value: z.string().nullable(),
    keywords: z.array(z.string()),
    eventTime: z.string().nullable(),
    quote: z.string().nullable(),
    sourceSessionId: z.string().nullable(),
    sourceTurnId: z.string().nullable(),
    validFrom: timeSchema,
    validTo: timeSchema.nullable(),
    supersededBy: z.string().nullable(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Memory' });

/** A memory as clients see it. */
export function memoryView(memory: Memory) {
  return {
    ...memory,
    validFrom: isoTime(memory.validFrom),
    validTo: memory.validTo === null ? null : isoTime(memory.validTo),
    createdAt: isoTime(memory.createdAt),
    updatedAt: isoTime(memory.updatedAt),
  };
}
