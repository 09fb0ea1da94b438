import type { Memory } from '@turnwire/shared/domain/memory';

export function exampleMemory(fields: Partial<Memory> & { readonly id: string }): Memory {
  return {
    tenantId: 'acme',
    userId: 'ann',
    text: `Fact ${fields.id}.`,
    kind: 'fact',
    subject: null,
    slot: null,
    value: null,
    keywords: ['a', 'b'],
    eventTime: null,
    quote: null,
    sourceSessionId: null,
    sourceTurnId: null,
    validFrom: 1,
    validTo: null,
    supersededBy: null,
    createdAt: 1,
    updatedAt: 1,
    ...fields,
  };
}
