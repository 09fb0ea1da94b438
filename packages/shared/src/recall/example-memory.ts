import type { Memory } from '../domain/memory.ts';

/** A valid memory of user `ann` of tenant `acme`, for tests. */
export function exampleMemory(id: string, text: string, more: Partial<Memory> = {}): Memory {
  return {
    id,
    tenantId: 'acme',
    userId: 'ann',
    text,
    kind: 'fact',
    subject: null,
    slot: null,
    value: null,
    keywords: [],
    eventTime: null,
    quote: null,
    sourceSessionId: null,
    sourceTurnId: null,
    validFrom: Date.UTC(2025, 0, 1),
    validTo: null,
    supersededBy: null,
    createdAt: Date.UTC(2025, 0, 1),
    updatedAt: Date.UTC(2025, 0, 1),
    ...more,
  };
}
