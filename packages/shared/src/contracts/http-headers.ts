import { z } from 'zod';

// What a tool's or server's caller sets itself, or what would break the framing of the request.
const RESERVED = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-session-id',
  'x-tenant-id',
  'x-turn-id',
  'x-user-id',
]);

const name = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, 'must be the name of an HTTP header')
  .refine((value) => !RESERVED.has(value.toLowerCase()), 'is set by the server itself');

const value = z
  .string()
  .max(8000)
  .regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII');

/** Extra headers of requests to an endpoint. They may hold secrets. */
export const headersSchema = z
  .record(name, value)
  .refine((headers) => Object.keys(headers).length <= 50, 'must be at most 50 headers');

/** An endpoint. Credentials belong into headers, which are masked, and not into a URL, which is shown. */
export const endpointSchema = z
  .url({ protocol: /^https?$/ })
  .max(2000)
  .refine(hasNoCredentials, 'must hold no user name or password; use a header');

function hasNoCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username === '' && password === '';
}
