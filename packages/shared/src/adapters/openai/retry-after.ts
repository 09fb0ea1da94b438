/**
 * How long a provider asks to wait, in milliseconds; null where it does not say. `retry-after-ms` (OpenAI's, Azure's)
 * comes before `Retry-After`, which is seconds or a date: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const ms = numberIn(headers.get('retry-after-ms'));
  if (ms !== null) return ms;
  const value = headers.get('retry-after');
  const seconds = numberIn(value);
  if (seconds !== null) return Math.ceil(seconds * 1000);
  const at = value === null ? Number.NaN : Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

function numberIn(value: string | null): number | null {
  return value !== null && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : null;
}
