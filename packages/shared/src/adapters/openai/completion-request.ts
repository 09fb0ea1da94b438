import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ModelMessage, ModelRequest, ToolDefinition } from '../../ports/language-model.ts';

/** The body of `POST /chat/completions`. */
export function completionRequest(
  request: ModelRequest,
  model: string,
  baseUrl: string,
): ChatCompletionCreateParamsStreaming {
  const { settings, tools, responseFormat } = request;
  return {
    model,
    messages: request.messages.map(wireMessage),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...outputLimit(settings.maxOutputTokens, baseUrl),
    ...(responseFormat === null
      ? {}
      : { response_format: { type: 'json_schema' as const, json_schema: { ...responseFormat } } }),
  };
}

function wireTool({ name, description, parameters }: ToolDefinition) {
  return { type: 'function' as const, function: { name, description, parameters } };
}

/**
 * OpenAI's newer models refuse `max_tokens`; other servers of the protocol know only that one, or both.
 * https://platform.openai.com/docs/api-reference/chat/create#chat_create-max_completion_tokens
 */
function outputLimit(limit: number | null, baseUrl: string) {
  if (limit === null) return {};
  const { hostname } = new URL(baseUrl);
  return /(^|\.)(openai|azure)\.com$/.test(hostname) ? { max_completion_tokens: limit } : { max_tokens: limit };
}

function wireMessage(message: ModelMessage): ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    case 'assistant': {
      const { content, toolCalls } = message;
      if (toolCalls.length === 0) return { role: 'assistant', content };
      const calls = toolCalls.map((call) => ({
        id: call.id,
        type: 'function' as const,
        function: { name: call.name, arguments: JSON.stringify(call.arguments) },
      }));
      return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls };
    }
  }
}
