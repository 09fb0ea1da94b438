import { randomUUID } from 'node:crypto';
import type { ChatRequest } from './chat-request.ts';
import { commonReply } from './common-reply.ts';
import { roughUsage } from './count-tokens.ts';
import type { Ending, Reply } from './reply.ts';
import type { ResponseWriter } from './response-writer.ts';
import { createToolCallNumbers, joinToolCalls, type ToolCallDelta } from './tool-call-numbers.ts';

const HEADERS = { 'content-type': 'application/json' };

/** Collects what a handler says and answers with one `chat.completion`. */
export function createWholeReply(writer: ResponseWriter, request: ChatRequest): Reply {
  const common = commonReply(writer, HEADERS);
  const numbers = createToolCallNumbers();
  const deltas: ToolCallDelta[] = [];
  let text = '';
  let reasoning = '';
  let whole: unknown;

  const completion = ({ finishReason, usage }: Ending) => {
    const calls = joinToolCalls(deltas);
    const message = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    const counted = usage === undefined ? roughUsage(request, text + reasoning + JSON.stringify(calls)) : usage;
    return {
      id: `chatcmpl-${randomUUID()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model: request.model,
      choices: [{ index: 0, message, finish_reason: finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop') }],
      ...(counted === null ? {} : { usage: counted }),
    };
  };
  return {
    ...common,
    text: async (piece) => {
      text += piece;
    },
    reasoning: async (piece) => {
      reasoning += piece;
    },
    toolCall: async (piece) => {
      deltas.push(numbers.next(piece));
    },
    chunk: async (object) => {
      whole = object;
    },
    end: async (ending = {}) => {
      if (writer.ended) return;
      await common.raw(JSON.stringify(whole ?? completion(ending)));
      writer.end();
    },
  };
}
