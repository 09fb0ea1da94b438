import { isJsonObject } from '@turnwire/shared/domain/json';
import type { HttpTool } from '@turnwire/shared/domain/registration';
import { decodeText, isJsonType, isText, parseContentType } from '../decode-text.ts';
import type { ReadBody } from '../read-body.ts';

const MAX_EXCERPT = 200;

/** The body of a 2xx answer as the model reads it. */
export function resultOf(response: Response, { bytes, cut }: ReadBody): string {
  const { type, charset } = parseContentType(response.headers.get('content-type'));
  if (bytes.length === 0) return '(no content)';
  if (!isText(type, bytes))
    return `(${type || 'binary data'}, ${cut ? 'more than ' : ''}${bytes.length} bytes: not shown)`;
  const text = decodeText(bytes, charset);
  if (cut) return `${text}\n[Cut: the first ${bytes.length} bytes.]`;
  return isJsonType(type) || type === '' ? compacted(text) : text;
}

/** JSON without the spaces between its tokens. Numbers stay as written: parsing would round long ones. */
function compacted(text: string): string {
  return parse(text) === undefined ? text : text.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, '$1');
}

/** Why a call failed: the status and what the body says of it, without what could be a secret of the configuration. */
export function failureOf(tool: HttpTool, response: Response, { bytes }: ReadBody): string {
  const { type, charset } = parseContentType(response.headers.get('content-type'));
  const status = `HTTP ${response.status}${response.statusText === '' ? '' : ` ${response.statusText}`}`;
  const said = isText(type, bytes) ? saidBy(decodeText(bytes, charset)) : '';
  const excerpt = withoutSecrets(said, tool)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (excerpt === '') return `The tool answered ${status}.`;
  const shown = excerpt.length > MAX_EXCERPT ? `${excerpt.slice(0, MAX_EXCERPT)}…` : excerpt;
  return `The tool answered ${status}: ${shown}`;
}

/** The sentence in an error's usual places (RFC 9457, `message`, `error`), or the text of the page. */
function saidBy(text: string): string {
  const body = parse(text);
  if (body === undefined) return text.replace(/<(?:script|style)[\s\S]*?<\/(?:script|style)>|<[^>]*>/gi, ' ');
  if (!isJsonObject(body)) return text;
  const { detail, message, error, title } = body;
  const nested = isJsonObject(error) ? error.message : error;
  return [detail, message, nested, title].find((value) => typeof value === 'string') ?? text;
}

function withoutSecrets(text: string, { headers }: HttpTool): string {
  return Object.values(headers)
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
