import { randomUUID } from 'node:crypto';
import type { ChatRequest } from './chat-request.ts';
import { commonReply } from './common-reply.ts';
import { sseFrame } from './completion-chunk.ts';
import { roughUsage } from './count-tokens.ts';
import type { Ending, Reply, ToolCallPiece } from './reply.ts';
import type { ResponseWriter } from './response-writer.ts';
import { createToolCallNumbers } from './tool-call-numbers.ts';

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

/** Answers as server-sent events, one write per operation. */
export function createStreamReply(writer: ResponseWriter, request: ChatRequest): Reply {
  const withUsage = request.stream_options?.include_usage === true;
  const head = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1000),
    model: request.model,
  };
  // Built once: a benchmark's token costs one JSON.stringify of its text and one write.
  const before = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[{"index":0,"delta":{`;
  const after = `},"finish_reason":null}]${withUsage ? ',"usage":null' : ''}}\n\n`;
  const numbers = createToolCallNumbers();
  let role = '"role":"assistant",';
  let answer = '';

  const common = commonReply(writer, HEADERS);
  const delta = (json: string) => {
    const frame = before + role + json + after;
    role = '';
    return common.raw(frame);
  };
  return {
    ...common,
    text: (piece) => {
      answer += piece;
      return delta(`"content":${JSON.stringify(piece)}`);
    },
    reasoning: (piece) => {
      answer += piece;
      return delta(`"reasoning_content":${JSON.stringify(piece)}`);
    },
    toolCall: (piece: ToolCallPiece) => {
      const call = numbers.next(piece);
      answer += (call.function.name ?? '') + (call.function.arguments ?? '');
      return delta(`"tool_calls":${JSON.stringify([call])}`);
    },
    chunk: (object) => common.raw(sseFrame(object)),
    end: async (ending: Ending = {}) => {
      if (writer.ended) return;
      const finish_reason = ending.finishReason ?? (numbers.count > 0 ? 'tool_calls' : 'stop');
      const choices = [{ index: 0, delta: {}, finish_reason }];
      let frames = sseFrame({ ...head, choices, ...(withUsage ? { usage: null } : {}) });
      const usage = ending.usage === undefined && withUsage ? roughUsage(request, answer) : ending.usage;
      if (withUsage && usage) frames += sseFrame({ ...head, choices: [], usage });
      await common.raw(`${frames}data: [DONE]\n\n`);
      writer.end();
    },
  };
}
