import type { JsonObject } from '@turnwire/shared/domain/json';
import type { HttpTool } from '@turnwire/shared/domain/registration';
import type { ToolCallContext } from '@turnwire/shared/ports/tool';

export interface HttpToolRequest {
  readonly url: URL;
  readonly init: RequestInit & { readonly method: string; readonly headers: Headers };
}

/** The request of one call: arguments as JSON body, or as query parameters where a method has no body. */
export function buildRequest(tool: HttpTool, args: JsonObject, context: ToolCallContext): HttpToolRequest {
  const { method } = tool;
  const url = new URL(tool.url);
  const headers = headersOf(tool, context);
  if (method === 'GET' || method === 'DELETE') {
    appendQuery(url, args);
    return { url, init: { method, headers, signal: context.signal } };
  }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return { url, init: { method, headers, signal: context.signal, body: JSON.stringify(args) } };
}

/** Lists are repeated parameters; what is not a text is written as JSON; null is left out. */
function appendQuery(url: URL, args: JsonObject): void {
  for (const [name, value] of Object.entries(args)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null) url.searchParams.append(name, typeof one === 'string' ? one : JSON.stringify(one));
    }
  }
}

// Would break the framing of the request, or are fetch's own.
const FRAMING = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Configured headers first, so that none of them can stand for the call's own. */
function headersOf({ headers: configured }: HttpTool, context: ToolCallContext): Headers {
  const headers = new Headers({ accept: 'application/json, text/*;q=0.9, */*;q=0.1' });
  for (const [name, value] of Object.entries(configured)) {
    if (FRAMING.has(name.toLowerCase()) || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) continue;
    headers.set(name, value.replace(/[^\t\x20-\x7e]/g, ''));
  }
  headers.set('idempotency-key', escaped(context.idempotencyKey));
  headers.set('x-tenant-id', escaped(context.tenantId));
  headers.set('x-user-id', escaped(context.userId));
  headers.set('x-session-id', escaped(context.sessionId));
  headers.set('x-turn-id', escaped(context.turnId));
  if (context.traceparent !== undefined) headers.set('traceparent', context.traceparent);
  return headers;
}

/**
 * An id as a header can hold it: what is not printable ASCII, and `%` itself, percent-encoded, so that two ids never
 * look the same and `decodeURIComponent` gives the id back.
 */
function escaped(id: string): string {
  return id.replace(/[^\x21-\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()));
}
