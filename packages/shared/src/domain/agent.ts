import type { OnExpire } from './interrupt.ts';

export const AGENT_MODES = ['conversation', 'task'] as const;
export type AgentMode = (typeof AGENT_MODES)[number];

/** What makes two errors the same: name and message, or these with the first three lines of the stack. */
export const ERROR_SIGNATURES = ['simple', 'detailed'] as const;

export interface ModelSettings {
  /** Null: the server's default model (`OPENAI_MODEL`). */
  readonly name: string | null;
  /** Null: the server's default endpoint. */
  readonly baseUrl: string | null;
  /** Name of the environment variable with the key, never the key. Null: the default key, and none for another `baseUrl`. */
  readonly apiKeyEnv: string | null;
  readonly temperature: number | null;
  readonly maxOutputTokens: number | null;
  readonly toolCalls: 'native' | 'text';
  readonly reasoning: 'strip' | 'echo';
}

/** What an operator configures; the server adds tenant, revision and times. */
export interface AgentSettings {
  readonly name: string;
  readonly systemPrompt: string;
  readonly model: ModelSettings;
  /** Tool names; `mcp:<server>/*` for all of a server. */
  readonly tools: readonly string[];
  readonly mode: AgentMode;
  readonly maxSteps: number;
  readonly toolTimeoutMs: number;
  /** Counts leased time only: waiting for a person or a worker does not. */
  readonly turnTimeoutMs: number;
  readonly approval: {
    /** Tool names, or `*`. */
    readonly tools: readonly string[];
    readonly ttlSeconds: number;
    readonly onExpire: OnExpire;
  };
  /** When the same error of tools has come `max` times in a turn, the turn pauses. */
  readonly errors: { readonly signature: (typeof ERROR_SIGNATURES)[number]; readonly max: number };
  readonly memory: { readonly recall: boolean; readonly extract: boolean; readonly topK: number };
}

export interface Agent extends AgentSettings {
  readonly id: string;
  readonly tenantId: string;
  /** Grows by one with every change. A turn keeps the revision of its first claim. */
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whether a list of names, `*` and `prefix/*` patterns covers a tool. */
export function coversTool(patterns: readonly string[], toolName: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === toolName || pattern === '*' || (pattern.endsWith('*') && toolName.startsWith(pattern.slice(0, -1))),
  );
}
