/** A `Content-Type` header in its parts; both are lower case and empty if there are none. */
export function parseContentType(header: string | null): { readonly type: string; readonly charset: string } {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length) ?? '';
  return { type, charset: charset.replace(/^["']|["']$/g, '') };
}

export function isJsonType(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(type);
}

/** Whether a body is text, by its type or, where it has none that says so, by its first bytes. */
export function isText(type: string, bytes: Uint8Array): boolean {
  if (bytes.subarray(0, 1024).includes(0) && !/utf-?16/.test(byteOrderMark(bytes) ?? '')) return false;
  if (type === '' || type === 'application/octet-stream') return true;
  const isStructured = /^application\/(?:[\w.+-]+\+)?(?:json|xml|yaml)$/.test(type);
  return type.startsWith('text/') || isStructured || TEXT_TYPES.has(type);
}

const TEXT_TYPES = new Set([
  'application/ecmascript',
  'application/graphql',
  'application/javascript',
  'application/json-seq',
  'application/jsonl',
  'application/sql',
  'application/toml',
  'application/x-javascript',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-www-form-urlencoded',
  'application/x-yaml',
]);

/** Text of a body: charset by byte order mark, header, or an HTML page's own word; else UTF-8. Never throws. */
export function decodeText(bytes: Uint8Array, charset: string): string {
  const label = byteOrderMark(bytes) ?? (charset === '' ? declaredInPage(bytes) : charset);
  return decoderFor(label).decode(bytes);
}

function byteOrderMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return null;
}

/** HTML says it within the first 1024 bytes: `<meta charset="gbk">` or in a `http-equiv`; XML in its declaration. */
function declaredInPage(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const found =
    /<meta[^>]{0,200}?charset\s*=\s*["']?([\w:-]+)|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:-]+)/i.exec(start);
  return found?.[1] ?? found?.[2] ?? 'utf-8';
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder('utf-8');
  }
}
