// The part of OpenAI's Chat Completions protocol that this server reads, as data.
// Source of names: https://platform.openai.com/docs/api-reference/chat/create

export type ContentPart = { type: string; text?: string };

export type MessageToolCall = {
  id: string;
  type?: string;
  function: { name: string; arguments: string };
};

/** A message as it came in. Only `role` is sure; what else is wrong is for `validateConversation` to say. */
export type ChatMessage = {
  role: string;
  content?: string | readonly ContentPart[] | null;
  tool_calls?: readonly MessageToolCall[];
  tool_call_id?: string;
  name?: string;
  reasoning_content?: string;
};

/** A JSON Schema, read loosely: a key that is absent or of another type does not constrain. */
export type JsonSchema = { readonly [key: string]: unknown };

export type ToolDefinition = {
  type?: string;
  function: { name: string; description?: string; parameters?: JsonSchema };
};

export type ResponseFormat = {
  type: string;
  json_schema?: { name?: string; schema?: JsonSchema; strict?: boolean };
};

export type ChatRequest = {
  model: string;
  messages: readonly ChatMessage[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean } | null;
  tools?: readonly ToolDefinition[];
  tool_choice?: unknown;
  response_format?: ResponseFormat;
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
};

export type ToolOutcome = { id: string; name: string; arguments: string; content: string };

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What keeps a parsed body from being a chat request at all, in one sentence; `null` if nothing does. */
export function chatRequestFault(body: unknown): string | null {
  if (!isRecord(body)) return 'the body must be a JSON object';
  if (typeof body.model !== 'string' || body.model === '') return "'model' must be a non-empty string";
  const { messages, tools } = body;
  if (!Array.isArray(messages)) return "'messages' must be an array";
  const badMessage = messages.findIndex((message) => !isRecord(message) || typeof message.role !== 'string');
  if (badMessage >= 0) return `messages[${badMessage}] must be an object with a role`;
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) return "'tools' must be an array";
  const badTool = tools.findIndex((tool) => !isRecord(tool) || !isRecord(tool.function));
  return badTool >= 0 ? `tools[${badTool}] must be an object with a function` : null;
}

export function isChatRequest(body: unknown): body is ChatRequest {
  return chatRequestFault(body) === null;
}

/** The text of a message whose content is a string, a list of parts, or absent. */
export function messageText(message: ChatMessage): string {
  if (typeof message.content === 'string') return message.content;
  if (!Array.isArray(message.content)) return '';
  return message.content.map((part: ContentPart) => part.text ?? '').join('');
}

/** The newest user message's text; empty if there is none. */
export function lastUserText(messages: readonly ChatMessage[]): string {
  const message = messages.findLast(({ role }) => role === 'user');
  return message === undefined ? '' : messageText(message);
}

/** Results of all tool calls since the newest user message, in their order, each with the call it answers. */
export function toolOutcomes(messages: readonly ChatMessage[]): ToolOutcome[] {
  return pairOutcomes(messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1));
}

/** The same since the newest answer in words: a user may have spoken in between. */
export function turnOutcomes(messages: readonly ChatMessage[]): ToolOutcome[] {
  const answered = messages.findLastIndex(({ role, tool_calls }) => role === 'assistant' && tool_calls === undefined);
  return pairOutcomes(messages.slice(answered + 1));
}

function pairOutcomes(messages: readonly ChatMessage[]): ToolOutcome[] {
  const calls = new Map(messages.flatMap((message) => message.tool_calls ?? []).map((call) => [call.id, call]));
  return messages.flatMap((message) => {
    const call = calls.get(message.tool_call_id ?? '');
    if (message.role !== 'tool' || call === undefined) return [];
    return [{ id: call.id, ...call.function, content: messageText(message) }];
  });
}
