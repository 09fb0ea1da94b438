import { NO_USAGE, type Usage } from '@turnwire/shared/domain/usage';
import type { LanguageModel, ModelFailure, ModelRequest } from '@turnwire/shared/ports/language-model';
import { type AssembledCall, createCallAssembler } from './assemble-calls.ts';
import type { Piece } from './engine.ts';

/** One reply of the model, read to its end. */
export interface RawReply {
  readonly text: string;
  readonly calls: readonly AssembledCall[];
  readonly usage: Usage;
  readonly finishReason: string;
  /** Why the stream broke, or null. */
  readonly failure: ModelFailure | null;
  /** Whether clients were shown anything of it. */
  readonly shown: boolean;
}

/** Reads the model's stream chunk by chunk: text is shown in order and at once, tool calls are put together. */
export async function* readReply(
  model: LanguageModel,
  request: ModelRequest,
  step: number,
  signal: AbortSignal,
): AsyncGenerator<Piece, RawReply> {
  const assembler = createCallAssembler();
  let text = '';
  let usage = NO_USAGE;
  let finishReason = '';
  let failure: ModelFailure | null = null;
  let shown = false;
  for await (const chunk of model.stream(request, signal)) {
    switch (chunk.type) {
      case 'text':
        if (chunk.text === '') break;
        text += chunk.text;
        shown = true;
        yield { type: 'turn.delta', data: { step, text: chunk.text } };
        break;
      case 'reasoning':
        if (chunk.text === '') break;
        shown = true;
        yield { type: 'reasoning.delta', data: { step, text: chunk.text } };
        break;
      case 'tool_call':
        assembler.add(chunk);
        break;
      case 'usage':
        usage = chunk.usage;
        break;
      case 'error':
        failure = chunk.error;
        break;
      case 'end':
        finishReason = chunk.finishReason;
        break;
    }
  }
  return { text, calls: assembler.calls(), usage, finishReason, failure, shown };
}
