import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryId, sessionId, turnId, userId, userOf, writeId } from './record-key.ts';

const part = fc.oneof(fc.string(), fc.stringMatching(/^[%/2F5a]*$/));

test('different things have different ids', () => {
  fc.assert(
    fc.property(fc.tuple(part, part), fc.tuple(part, part), ([a, b], [c, d]) => {
      expect(turnId(a, b) === turnId(c, d)).toBe(a === c && b === d);
    }),
  );
  expect(new Set([turnId('a', 'b'), memoryId('a', 'b'), writeId('a', 'b')]).size).toBe(3);
});

test('an id tells whose it is', () => {
  fc.assert(
    fc.property(part, part, (tenantId, user) => {
      expect(userOf(userId({ tenantId, userId: user }))).toEqual({ tenantId, userId: user });
    }),
  );
});

test('roots come before the answers that are read with them', () => {
  fc.assert(
    fc.property(part, part, part, (tenantId, id, key) => {
      expect(sessionId({ tenantId, sessionId: id }) < writeId(tenantId, key)).toBe(true);
      expect(userId({ tenantId, userId: id }) < writeId(tenantId, key)).toBe(true);
    }),
  );
});
