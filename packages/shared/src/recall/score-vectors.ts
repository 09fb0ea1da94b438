import { AppError } from '../domain/errors.ts';
import type { Embedder } from '../ports/embedder.ts';
import { RecentlyUsed } from './recently-used.ts';

const MAX_QUERY_CHARS = 8000;
/** About 12 MB at 1,536 dimensions. */
const CACHED_VECTORS = 2000;

// A vector depends on nothing but the embedder and the text, so turns of all users may share it.
const caches = new WeakMap<Embedder, RecentlyUsed<Float32Array>>();

/** How near each text is to the query (cosine), in order. Only texts that were not embedded lately are sent. */
export async function scoreVectors(
  embedder: Embedder,
  query: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  const cache = caches.get(embedder) ?? new RecentlyUsed<Float32Array>(CACHED_VECTORS);
  caches.set(embedder, cache);
  const known = new Map(texts.map((text) => [text, cache.get(text)]));
  const missing = [...known].filter(([, vector]) => vector === undefined).map(([text]) => text);
  const [queryVector, ...vectors] = await embedder.embed(
    [query.slice(0, MAX_QUERY_CHARS).toWellFormed(), ...missing],
    signal,
  );
  for (const [index, text] of missing.entries()) {
    const vector = vectors[index];
    if (vector === undefined) break;
    cache.set(text, vector);
    known.set(text, vector);
  }
  return texts.map((text) => cosine(queryVector, known.get(text)));
}

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  if (a === undefined || b === undefined || a.length !== b.length) {
    throw new AppError('model_error', 'The embedding model answered with missing or unequal vectors.');
  }
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
