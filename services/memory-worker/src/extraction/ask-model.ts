import { AppError, isAppError } from '@turnwire/shared/domain/errors';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { LanguageModel, ModelRequest } from '@turnwire/shared/ports/language-model';
import { withinLimit } from '@turnwire/shared/recall/time-limit';

const LIMIT_MS = 30_000;
const MAX_ANSWER_CHARS = 64_000;

/** The model's whole answer. Throws its failure as an `AppError`; also when it takes more than 30 s. */
export async function askModel(
  { model, clock }: { readonly model: LanguageModel; readonly clock: Clock },
  request: ModelRequest,
  signal: AbortSignal,
): Promise<string> {
  const ask = (asked: ModelRequest) =>
    withinLimit(clock, LIMIT_MS, signal, (limited) => readAnswer(model.stream(asked, limited)));
  try {
    return await ask(request);
  } catch (error) {
    // Many servers refuse a json_schema with 400. The prompt describes the answer too, and the parser trusts nothing.
    if (!isAppError(error, 'model_error') || error.retry) throw error;
    return ask({ ...request, responseFormat: null });
  }
}

async function readAnswer(chunks: ReturnType<LanguageModel['stream']>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    if (chunk.type === 'end') return text;
    if (chunk.type === 'error') {
      throw new AppError(chunk.error.code, chunk.error.message, { retry: chunk.error.retry });
    }
    if (chunk.type === 'text') text += chunk.text;
    if (text.length > MAX_ANSWER_CHARS)
      throw new AppError('model_error', 'The answer is far too long.', { retry: true });
  }
  throw new AppError('model_error', 'The answer ended early.', { retry: true });
}
