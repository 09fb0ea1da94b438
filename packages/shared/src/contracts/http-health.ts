import { z } from 'zod';

export const healthSchema = z.strictObject({ status: z.literal('ok') });

const partSchema = z.strictObject({ kind: z.string().describe('Such as `sqlite`'), ok: z.boolean() });

/** The answer of `GET /readyz`: 200 when it is `ready`, 503 otherwise. */
export const readinessSchema = z
  .strictObject({
    status: z.enum(['ready', 'unavailable', 'stopping']),
    store: partSchema,
    queue: partSchema,
    bus: partSchema,
    model: z.string(),
    demo: z.boolean(),
    note: z.string().optional(),
  })
  .meta({ id: 'Readiness' });
