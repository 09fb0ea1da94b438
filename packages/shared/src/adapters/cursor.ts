import { AppError } from '../domain/errors.ts';

/** The key of a page's last item: for lists by name a name, for lists by age a time and an id. */
export type CursorKey = readonly (string | number)[];

/** A cursor is base64url of the last item's key, so that a page begins right after it even if that item is gone. */
export function encodeCursor(key: CursorKey): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** The key in a cursor; null without one. Throws `invalid_request` for anything that this kind of list did not give out. */
export function decodeCursor<const K extends readonly ('string' | 'number')[]>(
  cursor: string | null,
  kinds: K,
): { [I in keyof K]: K[I] extends 'string' ? string : number } | null {
  if (cursor === null) return null;
  const key = parse(cursor);
  const fits = Array.isArray(key) && key.length === kinds.length && key.every((part, i) => fitsKind(part, kinds[i]));
  if (!fits || encodeCursor(key) !== cursor) {
    throw new AppError('invalid_request', 'The cursor is not one that this list gave out.', {
      details: { path: 'cursor' },
    });
  }
  return key as { [I in keyof K]: K[I] extends 'string' ? string : number };
}

function fitsKind(part: unknown, kind: 'string' | 'number' | undefined): boolean {
  return kind === 'number' ? Number.isSafeInteger(part) : typeof part === 'string';
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}

/** Cuts a page of `limit` from a list that was read one item further. */
export function pageOf<T>(
  items: readonly T[],
  limit: number,
  keyOf: (item: T) => CursorKey,
): { readonly items: readonly T[]; readonly nextCursor: string | null } {
  const page = items.slice(0, limit);
  const last = page.at(-1);
  return { items: page, nextCursor: items.length > limit && last !== undefined ? encodeCursor(keyOf(last)) : null };
}
