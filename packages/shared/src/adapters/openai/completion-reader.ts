import { isJsonObject, type JsonObject } from '../../domain/json.ts';
import type { Usage } from '../../domain/usage.ts';
import type { ModelChunk } from '../../ports/language-model.ts';
import { SseDecoder } from './sse-decoder.ts';
import { StreamFault } from './stream-fault.ts';

/**
 * Turns the bytes of a streamed completion into chunks. Usage is told once, before the end, since some servers repeat
 * a running total on every chunk.
 */
export class CompletionReader {
  readonly #sse = new SseDecoder();
  #usage: Usage | null = null;
  #finishReason: string | null = null;
  #done = false;
  #fault: Error | null = null;

  /** `[DONE]` or an error was read: nothing that follows counts. */
  get done(): boolean {
    return this.#done;
  }

  /** The provider gave a finish reason; usage may still follow. */
  get finished(): boolean {
    return this.#finishReason !== null;
  }

  /** A {@link StreamFault}, or a SyntaxError for what is no JSON. */
  get fault(): Error | null {
    return this.#fault;
  }

  /** @param bytes a piece of the body; null: it has ended */
  read(bytes: Uint8Array | null): ModelChunk[] {
    const chunks: ModelChunk[] = [];
    for (const { name, data } of bytes === null ? this.#sse.end() : this.#sse.push(bytes)) {
      if (this.#done || data === '') continue; // an empty one keeps a connection alive
      if (data !== '[DONE]') this.#fault = this.#readPayload(name, data, chunks);
      this.#done = data === '[DONE]' || this.#fault !== null;
    }
    return chunks;
  }

  /** The chunks that close a stream that was finished, or the usage of one that was not. */
  closing(): ModelChunk[] {
    const chunks: ModelChunk[] = [];
    if (this.#usage !== null) chunks.push({ type: 'usage', usage: this.#usage });
    if (this.#finishReason !== null) chunks.push({ type: 'end', finishReason: this.#finishReason });
    return chunks;
  }

  /** Answers what is wrong with it, or null. */
  #readPayload(name: string, data: string, chunks: ModelChunk[]): Error | null {
    const payload = parsed(data);
    if (payload instanceof SyntaxError) return payload;
    if (!isJsonObject(payload)) return null;
    const { error = null, usage, choices } = payload;
    if (name === 'error' || error !== null) return new StreamFault(error ?? payload);
    if (isJsonObject(usage)) this.#usage = usageOf(usage);
    const choice = Array.isArray(choices) ? choices[0] : undefined; // Azure's first chunk has none
    if (!isJsonObject(choice)) return null;
    const { delta, message, finish_reason: reason } = choice;
    const piece = delta ?? message;
    if (isJsonObject(piece)) this.#readPiece(piece, chunks);
    if (reason === 'error') return new StreamFault(choice['error']);
    if (typeof reason === 'string' && reason !== '') this.#finishReason = reason;
    return null;
  }

  #readPiece(piece: JsonObject, chunks: ModelChunk[]): void {
    const { content, refusal, reasoning_content, reasoning: thought, tool_calls: calls } = piece;
    const reasoning = textOf(reasoning_content ?? thought);
    if (reasoning !== '') chunks.push({ type: 'reasoning', text: reasoning });
    const text = textOf(content) || textOf(refusal);
    if (text !== '') chunks.push({ type: 'text', text });
    if (!Array.isArray(calls)) return;
    for (const call of calls) {
      if (isJsonObject(call)) chunks.push(fragmentOf(call));
    }
  }
}

function fragmentOf({ index, id, function: fn }: JsonObject): ModelChunk {
  const { name, arguments: args } = isJsonObject(fn) ? fn : {};
  return {
    type: 'tool_call',
    index: typeof index === 'number' ? index : null,
    id: nonEmpty(id),
    name: nonEmpty(name),
    // Some servers send the arguments as an object, in one piece.
    arguments: typeof args === 'string' ? args : isJsonObject(args) ? JSON.stringify(args) : '',
  };
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    return error;
  }
}

function usageOf({ prompt_tokens, completion_tokens, total_tokens }: JsonObject): Usage {
  const inputTokens = countOf(prompt_tokens);
  const outputTokens = countOf(completion_tokens);
  return { inputTokens, outputTokens, totalTokens: countOf(total_tokens) || inputTokens + outputTokens };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}

/** A string, or the texts of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
