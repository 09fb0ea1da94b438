import type { JsonObject } from '../domain/json.ts';
import type { LanguageModel, ModelChunk, ModelFailure, ModelRequest } from '../ports/language-model.ts';

/** What the model answers: chunks one after the other, or a stream of the test's own making. */
export type ScriptedReply = readonly ModelChunk[] | ((signal: AbortSignal) => AsyncIterable<ModelChunk>);

export interface ScriptedModel extends LanguageModel {
  readonly requests: readonly ModelRequest[];
  /** Streams that are being read now. */
  readonly open: number;
}

/** Answers as the script says, given the request and how many came before. Ends early when the signal aborts. */
export function createScriptedModel(script: (request: ModelRequest, before: number) => ScriptedReply): ScriptedModel {
  const requests: ModelRequest[] = [];
  let open = 0;
  return {
    requests,
    get open() {
      return open;
    },
    async *stream(request, signal) {
      const reply = script(request, requests.length);
      requests.push(request);
      open += 1;
      try {
        for await (const chunk of typeof reply === 'function' ? reply(signal) : reply) {
          if (signal.aborted) return;
          yield chunk;
        }
      } finally {
        open -= 1;
      }
    },
  };
}

/** One reply after the other; the last one again and again. */
export function inOrder(
  ...replies: readonly ScriptedReply[]
): (request: ModelRequest, before: number) => ScriptedReply {
  return (_, before) => replies[Math.min(before, replies.length - 1)] ?? [];
}

/** Text in pieces of one word each. */
export function says(text: string, finishReason = 'stop'): readonly ModelChunk[] {
  const pieces = text.match(/\s*\S+|\s+/g) ?? [];
  return [...pieces.map((piece): ModelChunk => ({ type: 'text', text: piece })), ...ends(finishReason)];
}

export interface AskedCall {
  readonly id?: string | null;
  readonly name: string;
  readonly arguments?: JsonObject | string;
}

/** Tool calls, each in one fragment. */
export function calls(...asked: readonly AskedCall[]): readonly ModelChunk[] {
  const fragments = asked.map(
    ({ id, name, arguments: args = {} }, index): ModelChunk => ({
      type: 'tool_call',
      index,
      id: id === undefined ? `provider_${name}_${index}` : id,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    }),
  );
  return [...fragments, ...ends('tool_calls')];
}

export function ends(finishReason: string): readonly ModelChunk[] {
  const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
  return [
    { type: 'usage', usage },
    { type: 'end', finishReason },
  ];
}

export function breaks(failure: Partial<ModelFailure> = {}): readonly ModelChunk[] {
  const error = {
    code: 'model_error',
    message: 'The stream broke.',
    retry: true,
    retryAfterMs: null,
    ...failure,
  } as const;
  return [{ type: 'error', error }];
}

/** These chunks, and then nothing until the signal aborts. */
export function thenHangs(...chunks: readonly ModelChunk[]): ScriptedReply {
  return async function* (signal) {
    yield* chunks;
    await untilAborted(signal);
  };
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
