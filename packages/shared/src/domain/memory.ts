/** A fact about a user that outlives the session. Nothing is overwritten: a newer fact closes the older one. */
export interface Memory {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly text: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly slot: string | null;
  readonly value: string | null;
  readonly keywords: readonly string[];
  /** When the fact happened, ISO 8601, as far as it is known. */
  readonly eventTime: string | null;
  /** The user's own words that it came from; null where a person entered it. */
  readonly quote: string | null;
  readonly sourceSessionId: string | null;
  readonly sourceTurnId: string | null;
  readonly validFrom: number;
  readonly validTo: number | null;
  readonly supersededBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a person changes of a memory. */
export type MemoryPatch = Partial<
  Pick<Memory, 'text' | 'kind' | 'subject' | 'slot' | 'value' | 'keywords' | 'eventTime' | 'validTo'>
>;

/** What an extraction does to a user's memories, stored in one write together with the mark that it was done. */
export interface MemoryChanges {
  readonly added: readonly Memory[];
  /** Older facts that are closed: `validTo` and, for a replaced one, `supersededBy`. */
  readonly closed: readonly { readonly id: string; readonly validTo: number; readonly supersededBy: string | null }[];
}
