import { z } from 'zod';
import { AGENT_MODES, type AgentSettings, ERROR_SIGNATURES } from '../domain/agent.ts';
import { ON_EXPIRE } from '../domain/interrupt.ts';

const toolPattern = z.string().min(1).max(200);

const modelSettings = z.strictObject({
  name: z.string().min(1).max(200).nullable().default(null),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*_API_KEY$/, 'must be the name of an environment variable that ends in _API_KEY')
    .nullable()
    .default(null),
  temperature: z.number().min(0).max(2).nullable().default(null),
  maxOutputTokens: z.int().min(1).max(1_000_000).nullable().default(null),
  toolCalls: z.enum(['native', 'text']).default('native'),
  reasoning: z.enum(['strip', 'echo']).default('strip'),
});

const approval = z.strictObject({
  tools: z.array(toolPattern).max(200).default([]),
  ttlSeconds: z.int().min(1).max(31_536_000).default(86_400),
  onExpire: z.enum(ON_EXPIRE).default('reject'),
});

const memory = z.strictObject({
  recall: z.boolean().default(true),
  extract: z.boolean().default(true),
  topK: z.int().min(0).max(100).default(8),
});

const errors = z.strictObject({
  signature: z.enum(ERROR_SIGNATURES).default('simple'),
  max: z.int().min(1).max(100).default(3),
});

/** The body of `PUT /v1/agents/{id}`. Everything has a default. */
export const agentSettingsSchema = z.strictObject({
  name: z.string().min(1).max(200).default('Agent'),
  systemPrompt: z.string().max(100_000).default(''),
  model: modelSettings.prefault({}),
  tools: z.array(toolPattern).max(200).default([]),
  mode: z.enum(AGENT_MODES).default('conversation'),
  maxSteps: z.int().min(1).max(1000).default(20),
  toolTimeoutMs: z.int().min(1).max(86_400_000).default(30_000),
  turnTimeoutMs: z.int().min(1).max(86_400_000).default(600_000),
  approval: approval.prefault({}),
  memory: memory.prefault({}),
  errors: errors.prefault({}),
}) satisfies z.ZodType<AgentSettings>;
