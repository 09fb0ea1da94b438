import type { OutgoingHttpHeaders } from 'node:http';
import type { ChatMessage, ChatRequest } from './chat-request.ts';
import { errorBody } from './completion-chunk.ts';
import type { ModelHandler } from './model-handler.ts';
import type { Ending, Reply, ToolCallPiece } from './reply.ts';

/** An answer in the order of its fields: delay, reasoning, text, tool calls, then how it ends. */
export type AnswerStep = Ending & {
  /** Milliseconds before the first byte. */
  delayMs?: number;
  reasoning?: string | readonly string[];
  /** A list is sent piece by piece. */
  text?: string | readonly string[];
  toolCalls?: readonly ToolCallPiece[];
  /** Milliseconds before each further piece. */
  paceMs?: number;
  /** What comes after the pieces. Default `end`; see the operations of `Reply`. */
  ending?: 'end' | 'fin' | 'cut' | 'hang';
};

/** An answer with another status; without a body, an OpenAI-shaped error. */
export type StatusStep = { status: number; headers?: OutgoingHttpHeaders; body?: unknown };

/** One answer: its text, its description, or a handler of its own. */
export type Step = string | AnswerStep | StatusStep | ModelHandler;

/**
 * Answers the n-th request with the n-th step. After the last one it answers 400 `script_exhausted`, which no client
 * retries. Refused conversations (strict) do not count.
 */
export function scripted(steps: readonly Step[]): ModelHandler {
  let count = 0;
  return (call, reply) => {
    const step = steps[count];
    count += 1;
    if (step !== undefined) return playStep(step)(call, reply);
    const message = `the script has ${steps.length} steps; this is request ${count}`;
    return reply.status(400, {}, errorBody(message, 'script_exhausted'));
  };
}

/** Answers by what the conversation holds, so that a request repeated after a crash gets the same answer. */
export function byConversation(stepFor: (messages: readonly ChatMessage[], body: ChatRequest) => Step): ModelHandler {
  return (call, reply) => playStep(stepFor(call.body.messages, call.body))(call, reply);
}

/** The handler that gives this one step as its answer, however often it is asked. */
export function playStep(step: Step): ModelHandler {
  if (typeof step === 'function') return step;
  if (typeof step === 'string') return (_call, reply) => reply.text(step);
  if ('status' in step) return (_call, reply) => reply.status(step.status, step.headers, step.body);
  return (_call, reply) => playAnswer(step, reply);
}

async function playAnswer(step: AnswerStep, reply: Reply): Promise<void> {
  if (step.delayMs !== undefined) await reply.delay(step.delayMs);
  const pieces = [
    ...listOf(step.reasoning).map((piece) => () => reply.reasoning(piece)),
    ...listOf(step.text).map((piece) => () => reply.text(piece)),
    ...(step.toolCalls ?? []).map((piece) => () => reply.toolCall(piece)),
  ];
  for (const [index, send] of pieces.entries()) {
    if (index > 0 && step.paceMs !== undefined) await reply.delay(step.paceMs);
    await send();
  }
  switch (step.ending ?? 'end') {
    case 'end':
      return reply.end(step);
    case 'fin':
      return reply.fin();
    case 'cut':
      return reply.cut();
    case 'hang':
      return reply.hang();
  }
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
