import { isRecord } from './chat-request.ts';
import { countTokens } from './count-tokens.ts';

export type EmbeddingsAnswer = { status: number; body: unknown };

/**
 * `POST /v1/embeddings`, as data. `encoding_format: 'base64'` is little-endian float32, which the openai package asks
 * for by default.
 * @param embed gives one text's vector; what it throws is answered as a 500
 */
export function answerEmbeddings(
  body: unknown,
  embed: (text: string, dimensions?: number) => readonly number[],
): EmbeddingsAnswer {
  if (!isRecord(body) || typeof body.model !== 'string') return refused("'model' must be a string");
  const inputs: readonly unknown[] = Array.isArray(body.input) ? body.input : [body.input];
  const texts = inputs.filter((input) => typeof input === 'string' && input !== '').map(String);
  if (inputs.length === 0 || texts.length !== inputs.length) {
    return refused("'input' must be a non-empty string or a list of them");
  }
  const dimensions = body.dimensions;
  const size = typeof dimensions === 'number' ? dimensions : undefined;
  if (dimensions !== undefined && (size === undefined || !Number.isInteger(size) || size < 1 || size > 4096)) {
    return refused("'dimensions' must be an integer from 1 to 4096");
  }
  const encode = body.encoding_format === 'base64' ? toBase64 : (vector: readonly number[]) => vector;
  const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: encode(embed(text, size)) }));
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { status: 200, body: { object: 'list', data, model: body.model, usage } };
}

function refused(message: string): EmbeddingsAnswer {
  return { status: 400, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } };
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => {
    bytes.writeFloatLE(value, index * 4);
  });
  return bytes.toString('base64');
}
