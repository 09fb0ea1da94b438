import { z } from 'zod';
import { INTERRUPT_REASONS } from '../domain/interrupt.ts';
import { SESSION_STATES } from '../domain/session.ts';
import { jsonObject, text, timeSchema } from './http-json.ts';
import { pageQuerySchema } from './http-page.ts';

export const userIdSchema = text(1, 256);

/** The body of `POST /v1/sessions`. */
export const createSessionSchema = z.strictObject({
  agentId: z.string().min(1).max(128),
  userId: userIdSchema,
  metadata: jsonObject(16_384).default({}),
});

/** The query of `GET /v1/sessions`. */
export const listSessionsSchema = pageQuerySchema.extend({
  userId: userIdSchema.optional(),
  state: z.enum(SESSION_STATES).optional(),
});

export const requestedCallSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  arguments: jsonObject(Number.MAX_SAFE_INTEGER),
});

const interruptSchema = z
  .strictObject({
    id: z.string(),
    turnId: z.string(),
    reason: z.enum(INTERRUPT_REASONS),
    beforeNodes: z.array(z.enum(['tools', 'model'])),
    toolCalls: z.array(requestedCallSchema).describe('The calls to decide'),
    createdAt: timeSchema,
    expiresAt: timeSchema.nullable(),
  })
  .meta({ id: 'Interrupt' });

export const sessionSchema = z
  .strictObject({
    id: z.string(),
    tenantId: z.string(),
    userId: z.string(),
    agentId: z.string(),
    state: z.enum(SESSION_STATES),
    turnCount: z.int(),
    activeTurnId: z.string().nullable(),
    interrupt: interruptSchema.nullable(),
    metadata: jsonObject(16_384),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Session' });
