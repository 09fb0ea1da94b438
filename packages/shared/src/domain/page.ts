/** One page of a list. `nextCursor` is opaque and null on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface PageQuery {
  /** Items per page, 1 to 200. */
  readonly limit: number;
  readonly cursor: string | null;
}
