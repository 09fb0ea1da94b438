import { z } from 'zod';
import { timeSchema } from './http-json.ts';
import { requestedCallSchema } from './http-sessions.ts';

export const messageSchema = z
  .strictObject({
    id: z.string(),
    sessionId: z.string(),
    turnId: z.string(),
    seq: z.int(),
    role: z.enum(['user', 'assistant', 'tool']),
    content: z.string(),
    toolCalls: z.array(requestedCallSchema).optional(),
    toolCallId: z.string().optional(),
    status: z.enum(['partial', 'truncated', 'error']).optional(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Message' });
