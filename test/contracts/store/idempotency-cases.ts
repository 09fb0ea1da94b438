import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { exampleMemory } from './example-memory.ts';
import { refusal, StoreFixture } from './fixture.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export function idempotencyCases(make: MakeStore, options: { readonly longWaits: boolean }): void {
  describe('an Idempotency-Key', () => {
    const given = new StoreFixture(make);
    const key = (name: string, fingerprint = 'print') => ({ key: name, fingerprint });

    test('used 20 times at once makes one turn, and one answer word for word', async () => {
      const session = await given.session();
      const answers = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          given.store.sessions.acceptTurn(session, { turnId: `turn_${i}`, text: 'hi', onBusy: 'enqueue' }, key('k')),
        ),
      );
      const answered = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
      // A call that comes while the first is being decided may be refused; then it took no effect.
      for (const answer of answers) {
        if (answer.status === 'rejected') await refusal(Promise.reject(answer.reason), 'idempotency_in_flight');
      }
      expect(answered.filter(({ replayed }) => !replayed)).toHaveLength(1);
      const first = answered.find(({ replayed }) => !replayed);
      for (const { value } of answered) expect(value).toEqual(first?.value);
      expect(await given.read(session)).toMatchObject({ turnCount: 1, activeTurnId: first?.value.turn.id });
    });

    test('answers the first answer even after the session has moved on', async () => {
      const session = await given.session();
      const command = { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' } as const;
      const first = await given.store.sessions.acceptTurn(session, command, key('k'));
      const holder = await given.running(session);
      await holder.complete();
      const again = await given.store.sessions.acceptTurn(session, { ...command, turnId: 'turn_2' }, key('k'));
      expect(again).toEqual({ value: first.value, replayed: true });
      expect((await given.read(session)).turnCount).toBe(1);
    });

    test('with another fingerprint is a mistake', async () => {
      const session = await given.session();
      const command = { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' } as const;
      await given.store.sessions.acceptTurn(session, command, key('k'));
      const other = { ...command, turnId: 'turn_2', text: 'other' };
      await refusal(given.store.sessions.acceptTurn(session, other, key('k', 'other')), 'idempotency_mismatch');
      await refusal(
        given.store.sessions.cancelTurn(session, { turnId: null }, key('k', 'other')),
        'idempotency_mismatch',
      );
      expect((await given.read(session)).turnCount).toBe(1);
    });

    test('is the tenant’s own', async () => {
      const acme = await given.session('acme');
      const globex = await given.session('globex');
      const accept = (session: typeof acme, turnId: string) =>
        given.store.sessions.acceptTurn(session, { turnId, text: 'hi', onBusy: 'enqueue' }, key('k', 'other'));
      expect((await accept(acme, 'turn_a')).replayed).toBe(false);
      const other = await accept(globex, 'turn_b');
      expect(other).toMatchObject({ replayed: false, value: { turn: { id: 'turn_b', tenantId: 'globex' } } });
    });

    test('of a refused write is not stored', async () => {
      const session = await given.session();
      await given.accept(session);
      const command = { turnId: 'turn_k', text: 'hi', onBusy: 'reject' } as const;
      await refusal(given.store.sessions.acceptTurn(session, command, key('k')), 'session_busy');
      const unknown = { tenantId: 'acme', sessionId: 'ses_none' };
      await refusal(given.store.sessions.acceptTurn(unknown, command, key('k')), 'not_found');
      const holder = await given.running(session);
      await holder.complete();
      expect(await given.store.sessions.acceptTurn(session, command, key('k', 'new'))).toMatchObject({
        replayed: false,
      });
    });

    test('works for every write that takes one', async () => {
      const input = { id: 'ses_k', tenantId: 'acme', userId: 'ann', agentId: 'support', metadata: { a: 1 } };
      const created = await given.store.sessions.create(input, key('create'));
      const again = await given.store.sessions.create({ ...input, id: 'ses_other' }, key('create'));
      expect(again).toEqual({ value: created.value, replayed: true });
      expect(await given.store.sessions.get({ tenantId: 'acme', sessionId: 'ses_other' })).toBeNull();

      const { key: session, callIds } = await given.waiting(2);
      const settle = {
        interruptId: null,
        decisions: { [callIds[0]!]: { action: 'approve' } },
        others: null,
        text: null,
      } as const;
      const settled = await given.store.sessions.settleInterrupt(session, settle, key('settle'));
      expect(await given.store.sessions.settleInterrupt(session, settle, key('settle'))).toEqual({
        ...settled,
        replayed: true,
      });

      const cancelled = await given.store.sessions.cancelTurn(session, { turnId: null }, key('cancel'));
      expect(await given.store.sessions.cancelTurn(session, { turnId: null }, key('cancel'))).toEqual({
        ...cancelled,
        replayed: true,
      });

      const memory = exampleMemory({ id: 'mem_1' });
      const added = await given.store.memories.add(memory, key('add'));
      expect(added).toEqual({ value: memory, replayed: false });
      expect(await given.store.memories.add({ ...memory, id: 'mem_2' }, key('add'))).toEqual({
        value: memory,
        replayed: true,
      });
      expect(await given.store.memories.get('acme', 'mem_2')).toBeNull();
    });

    test.skipIf(!options.longWaits)('is kept for 24 hours, and pruned after that', async () => {
      const input = { tenantId: 'acme', userId: 'ann', agentId: 'support', metadata: {} };
      for (const name of ['a', 'b', 'c']) await given.store.sessions.create({ ...input, id: `ses_${name}` }, key(name));
      await given.advance(DAY_MS - 1);
      expect(await given.store.prune(10)).toBe(0);
      expect((await given.store.sessions.create({ ...input, id: 'ses_x' }, key('a'))).replayed).toBe(true);
      await given.advance(1);
      const later = await given.store.sessions.create({ ...input, id: 'ses_y' }, key('a', 'another print'));
      expect(later).toMatchObject({ replayed: false, value: { id: 'ses_y' } });
      expect(await given.store.prune(1)).toBe(1);
      expect(await given.store.prune(10)).toBe(1);
      expect(await given.store.prune(10)).toBe(0);
      expect((await given.store.sessions.create({ ...input, id: 'ses_z' }, key('a', 'another print'))).replayed).toBe(
        true,
      );
    });
  });
}
