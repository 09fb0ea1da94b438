import { toFetchError } from './fetch-error.ts';

export interface ReadBody {
  readonly bytes: Uint8Array;
  /** Whether there was more than the limit. */
  readonly cut: boolean;
}

/**
 * The first `maxBytes` of a body after decompression; what comes after is not read and the connection closed. Throws a
 * `ToolError` if the body breaks off, or the signal's reason.
 */
export async function readBody(response: Response, maxBytes: number, signal: AbortSignal): Promise<ReadBody> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > maxBytes) break; // leaving the loop cancels the stream
    }
  } catch (error) {
    throw toFetchError(error, new URL(response.url).host, signal);
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), cut: size > maxBytes };
}
