import { z } from 'zod';
import { AGENT_MODES, type Agent, ERROR_SIGNATURES } from '../domain/agent.ts';
import { ON_EXPIRE } from '../domain/interrupt.ts';
import { agentSettingsSchema } from './agent.ts';
import { timeSchema } from './http-json.ts';
import { isoTime } from './views.ts';

export const agentIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 letters, digits, dots, underscores or hyphens')
  // Clients take these for steps in the path, however they are encoded.
  .refine((id) => id !== '.' && id !== '..', 'must not be "." or ".."');

/** The body of `PUT /v1/agents/{id}`. */
export const putAgentSchema = agentSettingsSchema
  .extend({ id: z.string().optional().describe('May repeat the id of the path') })
  .superRefine(({ model, errors }, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (model.toolCalls === 'text') {
      refuse(
        ['model', 'toolCalls'],
        'Tool calls out of the text of the answer are not in this version yet; use "native".',
      );
    }
    if (model.reasoning === 'echo') {
      refuse(['model', 'reasoning'], 'Reasoning is not given back to the model in this version yet; use "strip".');
    }
    const { signature, max } = agentSettingsSchema.shape.errors.parse({});
    if (errors.signature !== signature || errors.max !== max) {
      refuse(['errors'], 'Repeated errors do not pause a turn in this version yet; leave this out.');
    }
  });

export const agentSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    systemPrompt: z.string(),
    model: z.strictObject({
      name: z.string().nullable(),
      baseUrl: z.string().nullable(),
      apiKeyEnv: z.string().nullable(),
      temperature: z.number().nullable(),
      maxOutputTokens: z.int().nullable(),
      toolCalls: z.enum(['native', 'text']),
      reasoning: z.enum(['strip', 'echo']),
    }),
    tools: z.array(z.string()),
    mode: z.enum(AGENT_MODES),
    maxSteps: z.int(),
    toolTimeoutMs: z.int(),
    turnTimeoutMs: z.int(),
    approval: z.strictObject({ tools: z.array(z.string()), ttlSeconds: z.int(), onExpire: z.enum(ON_EXPIRE) }),
    errors: z.strictObject({ signature: z.enum(ERROR_SIGNATURES), max: z.int() }),
    memory: z.strictObject({ recall: z.boolean(), extract: z.boolean(), topK: z.int() }),
    revision: z.int(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'Agent' });

/** An agent as clients see it. */
export function agentView(agent: Agent) {
  const { tenantId: _, createdAt, updatedAt, ...shown } = agent;
  return { ...shown, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
