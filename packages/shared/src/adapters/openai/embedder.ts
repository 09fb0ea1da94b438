import { AppError } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Embedder } from '../../ports/embedder.ts';
import { Clients } from './clients.ts';
import { type EndpointDefaults, ownEndpoint } from './endpoint.ts';
import { failureOf } from './failure.ts';
import { StreamFault } from './stream-fault.ts';

/** Texts per request; providers take from 100 up to 2,048. */
const BATCH = 256;
/** Models take 8,192 tokens per text, which 8,000 characters of no script exceed by much; more adds nothing to recall. */
const MAX_CHARS = 8000;

export interface OpenAiEmbedderOptions {
  /** The server's own endpoint, with the embedding model's name. */
  readonly defaults: EndpointDefaults;
  readonly env: (name: string) => string | undefined;
  readonly clock: Clock;
}

/** Embeddings from the server's own endpoint. */
export function createOpenAiEmbedder({ defaults, env, clock }: OpenAiEmbedderOptions): Embedder {
  const clients = new Clients(env);
  const endpoint = ownEndpoint(defaults);

  async function embedBatch(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    try {
      const client = await clients.of(endpoint);
      const input = texts.map((text) => text.slice(0, MAX_CHARS));
      const { data } = await client.embeddings.create({ model: defaults.model, input }, { signal });
      return inOrder(data, texts.length);
    } catch (error) {
      signal.throwIfAborted();
      const { message, retry } = failureOf(error, endpoint.apiKey, clock.now());
      throw new AppError('model_error', message, { retry });
    }
  }

  return {
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += BATCH) {
        vectors.push(...(await embedBatch(texts.slice(at, at + BATCH), signal)));
      }
      return vectors;
    },
  };
}

interface Embedded {
  readonly index: number;
  readonly embedding: readonly number[];
}

/** Unit vectors by the index that each answer names. */
function inOrder(data: readonly Embedded[], count: number): Float32Array[] {
  const byIndex = new Map(data.map(({ index, embedding }) => [index, unitVector(embedding)]));
  const vectors = Array.from({ length: count }, (_, index) => byIndex.get(index));
  return vectors.map((vector) => {
    if (vector === undefined || vector.length === 0) throw new StreamFault('An embedding is missing in the answer.');
    return vector;
  });
}

function unitVector(values: readonly number[]): Float32Array {
  const vector = Float32Array.from(values);
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
