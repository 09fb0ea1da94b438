/** One server-sent event with this object as its data. */
export function sseFrame(object: unknown): string {
  return `data: ${JSON.stringify(object)}\n\n`;
}

export type ChunkOptions = { id?: string; model?: string; finishReason?: string | null; usage?: unknown };

/** A `chat.completion.chunk` with this delta, to be sent by `reply.chunk` or, framed, by `reply.raw`. */
export function completionChunk(delta: Readonly<Record<string, unknown>>, options: ChunkOptions = {}) {
  return {
    id: options.id ?? 'chatcmpl-scripted',
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1000),
    model: options.model ?? 'scripted',
    choices: [{ index: 0, delta, finish_reason: options.finishReason ?? null }],
    ...(options.usage === undefined ? {} : { usage: options.usage }),
  };
}

/** An error in OpenAI's shape. */
export function errorBody(message: string, code: string | null = null, type = 'invalid_request_error') {
  return { error: { message, type, param: null, code } };
}
