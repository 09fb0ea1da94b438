import { createOpenAiEmbedder } from '../adapters/openai/embedder.ts';
import { createOpenAiLanguageModel, type OpenAiOptions } from '../adapters/openai/language-model.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import type { Clock } from '../ports/clock.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { LanguageModel } from '../ports/language-model.ts';

/** The adapters of OpenAI's protocol on the machine's own clock, for a server that a test runs. */
export interface OpenAiAdapters {
  readonly model: LanguageModel;
  readonly embedder: Embedder;
  readonly clock: Clock;
}

export function makeOpenAiAdapters(options: Omit<OpenAiOptions, 'clock'>): OpenAiAdapters {
  const clock = createSystemClock();
  const model = createOpenAiLanguageModel({ ...options, clock });
  return { model, embedder: createOpenAiEmbedder({ ...options, clock }), clock };
}
