import { z } from 'zod';
import type { Page } from '../domain/page.ts';

const LIMIT = 'must be a whole number from 1 to 200';

/** `?limit&cursor` of every list. */
export const pageQuerySchema = z.object({
  limit: z.coerce.number(LIMIT).int(LIMIT).min(1, LIMIT).max(200, LIMIT).default(50).describe('Items per page'),
  cursor: z
    .string()
    .min(1)
    .max(2000)
    .nullable()
    .default(null)
    .meta({ type: 'string', description: '`nextCursor` of the page before' }),
});

/** The answer of every list. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.strictObject({ items: z.array(item), nextCursor: z.string().nullable() });
}

export function pageView<T, V>(page: Page<T>, view: (item: T) => V) {
  return { items: page.items.map(view), nextCursor: page.nextCursor };
}
