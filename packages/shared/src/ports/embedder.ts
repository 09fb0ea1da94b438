export interface Embedder {
  /** One unit vector per text, in order. Throws `model_error`; rejects when the signal aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}
