import type { ModelSettings } from '@turnwire/shared/domain/agent';
import type { Memory } from '@turnwire/shared/domain/memory';
import type { Message } from '@turnwire/shared/domain/message';
import type { ModelRequest } from '@turnwire/shared/ports/language-model';
import { stripRecalled } from '@turnwire/shared/recall/recalled-block';
import { EXTRACTION_FORMAT_NAME, EXTRACTION_PROMPT, EXTRACTION_SCHEMA } from './extraction-prompt.ts';

const MAX_USER_CHARS = 24_000;
const MAX_ASSISTANT_CHARS = 2000;
const MAX_ASSISTANT_MESSAGES = 6;

export interface ExtractionInput {
  readonly agentModel: ModelSettings;
  /** `MEMORY_MODEL`; null: the agent's own. */
  readonly memoryModel: string | null;
  readonly messages: readonly Message[];
  /** The existing memories that the model may name; its `targetRef` is a place in this list, from 1. */
  readonly candidates: readonly Memory[];
  /** When the user spoke. */
  readonly saidAt: number;
}

/** What the extracting model is asked. All that comes from conversations is inside of one JSON text, never beside it. */
export function buildRequest(input: ExtractionInput): ModelRequest {
  const content = JSON.stringify({
    date: new Date(input.saidAt).toISOString().slice(0, 10),
    existingMemories: input.candidates.map(({ text }, index) => ({ ref: index + 1, text })),
    messages: spokenMessages(input.messages),
  });
  return {
    settings: settingsFor(input),
    messages: [
      { role: 'system', content: EXTRACTION_PROMPT },
      { role: 'user', content },
    ],
    tools: [],
    responseFormat: { name: EXTRACTION_FORMAT_NAME, schema: EXTRACTION_SCHEMA },
  };
}

/** All that the model is shown of what the user said in a turn. */
export function userWordsOf(messages: readonly Message[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(shownContent)
    .join('\n');
}

function settingsFor({ agentModel, memoryModel }: ExtractionInput): ModelSettings {
  // The agent's output limit is for its answers; here it would only cut the JSON.
  if (memoryModel === null) return { ...agentModel, maxOutputTokens: null };
  // The server's own model lives at the server's own endpoint.
  return { ...agentModel, name: memoryModel, baseUrl: null, apiKeyEnv: null, temperature: null, maxOutputTokens: null };
}

function spokenMessages(messages: readonly Message[]) {
  const assistant = messages.filter(({ role, content }) => role === 'assistant' && content !== '');
  const shown = new Set(assistant.slice(-MAX_ASSISTANT_MESSAGES));
  return messages
    .filter((message) => message.role === 'user' || shown.has(message))
    .map((message) => ({ role: message.role, content: shownContent(message) }));
}

/** Without recalled memories, which would be taken for news and noted again. */
function shownContent({ role, content }: Message): string {
  const limit = role === 'user' ? MAX_USER_CHARS : MAX_ASSISTANT_CHARS;
  return stripRecalled(content).slice(0, limit).toWellFormed();
}
