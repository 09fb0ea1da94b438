import { type ChatRequest, messageText } from './chat-request.ts';

export type Usage = { prompt_tokens: number; completion_tokens: number; total_tokens: number };

/** A rough count: one token per CJK character, one per four of any other. */
export function countTokens(text: string): number {
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) >= 0x2e80) wide += 1;
  }
  return wide + Math.ceil((text.length - wide) / 4);
}

/** Rough usage of one call; four tokens are added per message, as chat templates do. */
export function roughUsage(request: ChatRequest, answer: string): Usage {
  let prompt = 0;
  for (const message of request.messages) {
    prompt += 4 + countTokens(messageText(message));
    for (const call of message.tool_calls ?? []) prompt += countTokens(call.function.name + call.function.arguments);
  }
  for (const tool of request.tools ?? []) prompt += countTokens(JSON.stringify(tool.function));
  const completion = Math.max(1, countTokens(answer));
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
