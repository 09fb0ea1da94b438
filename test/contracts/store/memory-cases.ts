import type { Memory } from '@turnwire/shared/domain/memory';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { exampleMemory } from './example-memory.ts';
import { LEASE_MS, StoreFixture } from './fixture.ts';

const ann = { tenantId: 'acme', userId: 'ann' };
const all = { limit: 100, cursor: null };

export function memoryCases(make: MakeStore): void {
  describe('memories', () => {
    const given = new StoreFixture(make);
    const add = async (memory: Memory) => (await given.store.memories.add(memory, null)).value;
    const now = async () =>
      (await given.store.sessions.create({ ...ann, id: given.id('ses'), agentId: 'a', metadata: {} }, null)).value
        .createdAt;

    test('are listed newest first, in pages, only valid ones of that user', async () => {
      const time = await now();
      for (let i = 1; i <= 5; i += 1) await add(exampleMemory({ id: `mem_${i}`, createdAt: i }));
      await add(exampleMemory({ id: 'mem_bob', userId: 'bob', createdAt: 6 }));
      await add(exampleMemory({ id: 'mem_past', validTo: time - 1, createdAt: 7 }));
      await add(exampleMemory({ id: 'mem_future', validTo: time + 1_000_000, createdAt: 8 }));
      const first = await given.store.memories.list(ann, { limit: 4, cursor: null });
      const second = await given.store.memories.list(ann, { limit: 4, cursor: first.nextCursor });
      const expected = ['mem_future', 'mem_5', 'mem_4', 'mem_3', 'mem_2', 'mem_1'];
      expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(expected);
      expect(second.nextCursor).toBeNull();
      expect((await given.store.memories.valid(ann, 3)).map(({ id }) => id)).toEqual(expected.slice(0, 3));
      expect(await given.store.memories.get('acme', 'mem_past')).toMatchObject({ id: 'mem_past' });
    });

    test('made in the same millisecond are paged without loss', async () => {
      for (let i = 1; i <= 5; i += 1) await add(exampleMemory({ id: `mem_${i}` }));
      const first = await given.store.memories.list(ann, { limit: 2, cursor: null });
      const second = await given.store.memories.list(ann, { limit: 2, cursor: first.nextCursor });
      const third = await given.store.memories.list(ann, { limit: 2, cursor: second.nextCursor });
      const ids = [first, second, third].flatMap(({ items }) => items.map(({ id }) => id));
      expect(new Set(ids).size).toBe(5);
      expect(third.nextCursor).toBeNull();
    });

    test('are updated in part', async () => {
      const memory = await add(exampleMemory({ id: 'mem_1' }));
      const updated = await given.store.memories.update('acme', 'mem_1', { text: 'Better.', keywords: ['c'] });
      expect(updated).toEqual({ ...memory, text: 'Better.', keywords: ['c'], updatedAt: updated!.updatedAt });
      expect(updated!.updatedAt).toBeGreaterThan(memory.updatedAt);
      expect(await given.store.memories.get('acme', 'mem_1')).toEqual(updated);
      expect(await given.store.memories.update('acme', 'mem_none', { text: 'x' })).toBeNull();
      await given.store.memories.update('acme', 'mem_1', { validTo: updated!.updatedAt });
      expect(await given.store.memories.valid(ann, 10)).toEqual([]);
    });

    test('lose with their text what was drawn from it', async () => {
      const facts = { text: 'Lives in Rome.', subject: 'user', slot: 'home', value: 'Rome', quote: 'I live in Rome' };
      const memory = await add(exampleMemory({ id: 'mem_1', ...facts }));
      const same = await given.store.memories.update('acme', 'mem_1', { text: 'lives in  Rome', kind: 'profile' });
      expect(same).toEqual({ ...memory, text: 'lives in  Rome', kind: 'profile', updatedAt: same!.updatedAt });
      const moved = await given.store.memories.update('acme', 'mem_1', { text: 'Lives in Turin.' });
      const gone = { value: null, keywords: [], quote: null };
      expect(moved).toEqual({ ...same, text: 'Lives in Turin.', ...gone, updatedAt: moved!.updatedAt });
      expect(await given.store.memories.get('acme', 'mem_1')).toEqual(moved);
    });

    test('are deleted one by one or all of a user', async () => {
      for (const id of ['mem_1', 'mem_2', 'mem_3']) await add(exampleMemory({ id }));
      await add(exampleMemory({ id: 'mem_bob', userId: 'bob' }));
      expect(await given.store.memories.delete('acme', 'mem_1')).toBe(true);
      expect(await given.store.memories.delete('acme', 'mem_1')).toBe(false);
      expect(await given.store.memories.deleteAll(ann)).toBe(2);
      expect(await given.store.memories.deleteAll(ann)).toBe(0);
      expect((await given.store.memories.list(ann, all)).items).toEqual([]);
      expect(await given.store.memories.get('acme', 'mem_bob')).not.toBeNull();
    });
  });

  describe('extractions', () => {
    const given = new StoreFixture(make);
    const none = { added: [], closed: [] };

    /** A completed turn that owes an extraction; its session is another each time, its user the same. */
    async function owing(userId = 'ann'): Promise<Turn> {
      const key = await given.session('acme', userId);
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await given.advance(2);
      await holder.complete('Noted.', { extract: true });
      await holder.release();
      return given.turn('acme', turn.id);
    }

    test('are owed in the order of the turns’ ends, with the turn’s own messages', async () => {
      expect(await given.store.extractions.next(ann)).toBeNull();
      const first = await owing();
      const second = await owing();
      await owing('bob');
      const pending = await given.store.extractions.next(ann);
      expect(pending).toMatchObject({ turn: first, tombstones: [] });
      expect(pending?.messages.map(({ role, content }) => [role, content])).toEqual([
        ['user', first.text],
        ['assistant', 'Noted.'],
      ]);
      expect(await given.store.extractions.complete(first, none)).toBe(true);
      expect((await given.store.extractions.next(ann))?.turn.id).toBe(second.id);
      expect((await given.turn('acme', first.id)).extraction).toBe('done');
    });

    test('go by the end, not by the beginning', async () => {
      const slow = await given.session('acme', 'ann');
      const slowTurn = await given.accept(slow);
      const holder = await given.running(slow);
      const quick = await owing();
      await given.advance(2);
      await holder.complete('At last.', { extract: true });
      expect((await given.store.extractions.next(ann))?.turn.id).toBe(quick.id);
      await given.store.extractions.complete(quick, none);
      expect((await given.store.extractions.next(ann))?.turn.id).toBe(slowTurn.turn.id);
    });

    test('store memories and mark in one write, once, and never before an older one', async () => {
      const first = await owing();
      const second = await owing();
      const older = exampleMemory({ id: 'mem_old' });
      await given.store.memories.add(older, null);
      const early = { added: [exampleMemory({ id: 'mem_early' })], closed: [] };
      expect(await given.store.extractions.complete(second, early)).toBe(false);
      const validTo = first.finishedAt! - 1;
      const changes = {
        added: [exampleMemory({ id: 'mem_new' })],
        closed: [{ id: 'mem_old', validTo, supersededBy: 'mem_new' }],
      };
      const twice = await Promise.all([1, 2].map(() => given.store.extractions.complete(first, changes)));
      expect(twice.sort()).toEqual([false, true]);
      expect((await given.store.memories.list(ann, all)).items.map(({ id }) => id)).toEqual(['mem_new']);
      expect(await given.store.memories.get('acme', 'mem_old')).toMatchObject({
        validTo,
        supersededBy: 'mem_new',
        text: older.text,
      });
      expect(await given.store.memories.get('acme', 'mem_early')).toBeNull();
      expect(await given.store.extractions.complete(second, none)).toBe(true);
    });

    test('close nothing of another user, and nothing that is gone or closed already', async () => {
      await given.store.memories.add(exampleMemory({ id: 'mem_bob', userId: 'bob' }), null);
      await given.store.memories.add(exampleMemory({ id: 'mem_closed', validTo: 5, supersededBy: 'mem_x' }), null);
      const turn = await owing();
      const closed = ['mem_bob', 'mem_closed', 'mem_none'].map((id) => ({ id, validTo: 10, supersededBy: null }));
      expect(await given.store.extractions.complete(turn, { added: [], closed })).toBe(true);
      expect(await given.store.memories.get('acme', 'mem_bob')).toMatchObject({ validTo: null });
      expect(await given.store.memories.get('acme', 'mem_closed')).toMatchObject({ validTo: 5, supersededBy: 'mem_x' });
    });

    test('can be given up, so that the next one goes on', async () => {
      const first = await owing();
      const second = await owing();
      expect(await given.store.extractions.giveUp(first)).toBe(true);
      expect(await given.store.extractions.giveUp(first)).toBe(false);
      expect(await given.store.extractions.complete(first, none)).toBe(false);
      expect((await given.turn('acme', first.id)).extraction).toBe('failed');
      expect((await given.store.extractions.next(ann))?.turn.id).toBe(second.id);
    });

    test('are owed only by completed turns that ask for it', async () => {
      const key = await given.session();
      for (const outcome of [
        { status: 'CANCELLED' },
        { status: 'FAILED', error: { code: 'internal', message: 'x' } },
      ] as const) {
        await given.accept(key);
        const holder = await given.running(key);
        await holder.finish(outcome, { text: 'x', extract: true });
        await holder.release();
      }
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      expect(await given.store.extractions.next(ann)).toBeNull();
      expect(await given.store.extractions.takeDue(10, 1)).toEqual([]);
    });

    test('of a deleted session are owed no more', async () => {
      const turn = await owing();
      await given.store.sessions.delete({ tenantId: 'acme', sessionId: turn.sessionId });
      expect(await given.store.extractions.next(ann)).toBeNull();
      expect(
        await given.store.extractions.complete(turn, { added: [exampleMemory({ id: 'mem_1' })], closed: [] }),
      ).toBe(false);
      expect(await given.store.extractions.takeDue(10, 1)).toEqual([]);
      expect((await given.store.memories.list(ann, all)).items).toEqual([]);
    });

    test('are swept by user, the longest pending first, each once per retry time', async () => {
      await owing('ann');
      const second = await owing('bob');
      await owing('ann');
      await owing('carl');
      const users = async (limit: number) =>
        (await given.store.extractions.takeDue(limit, LEASE_MS)).map(({ userId }) => userId);
      expect(await users(2)).toEqual(['ann', 'bob']);
      expect(await users(2)).toEqual(['carl']);
      expect(await users(2)).toEqual([]);
      await given.store.extractions.complete(second, none);
      await given.leasesRunOut();
      expect((await users(10)).sort()).toEqual(['ann', 'carl']);
    });

    test('hear of what the user took back since, and do not bring it back', async () => {
      await given.store.memories.add(exampleMemory({ id: 'mem_1', text: 'Likes   TEA.' }), null);
      await given.store.memories.add(exampleMemory({ id: 'mem_2', text: 'Lives in Oslo' }), null);
      const turn = await owing();
      await given.advance(2);
      await given.store.memories.delete('acme', 'mem_1');
      await given.store.memories.update('acme', 'mem_2', { text: 'Lives in Bergen' });
      const pending = await given.store.extractions.next(ann);
      expect([...pending!.tombstones].sort()).toEqual(['likes tea', 'lives in oslo']);
      const added = [
        exampleMemory({ id: 'mem_3', text: 'likes tea' }),
        exampleMemory({ id: 'mem_4', text: 'lives in OSLO.' }),
        exampleMemory({ id: 'mem_5', text: 'Has a cat' }),
      ];
      expect(await given.store.extractions.complete(turn, { added, closed: [] })).toBe(true);
      const texts = (await given.store.memories.list(ann, all)).items.map(({ text }) => text).sort();
      expect(texts).toEqual(['Has a cat', 'Lives in Bergen']);
    });

    test('may remember what the user says again after taking it back; another user’s do not matter', async () => {
      await given.store.memories.add(exampleMemory({ id: 'mem_1', text: 'Likes tea' }), null);
      await given.store.memories.delete('acme', 'mem_1');
      await given.advance(5);
      const turn = await owing();
      await given.store.memories.add(exampleMemory({ id: 'mem_bob', userId: 'bob', text: 'Likes tea' }), null);
      await given.store.memories.delete('acme', 'mem_bob');
      expect((await given.store.extractions.next(ann))?.tombstones).toEqual([]);
      const changes = { added: [exampleMemory({ id: 'mem_2', text: 'Likes tea' })], closed: [] };
      expect(await given.store.extractions.complete(turn, changes)).toBe(true);
      expect((await given.store.memories.list(ann, all)).items).toHaveLength(1);
    });

    test('of turns accepted before all was erased are owed no more, ended or not', async () => {
      await given.store.memories.add(exampleMemory({ id: 'mem_1', text: 'Likes tea' }), null);
      const ended = await owing();
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await given.store.memories.delete('acme', 'mem_1');
      await given.advance(5);
      await given.store.memories.deleteAll(ann);
      const brought = { added: [exampleMemory({ id: 'mem_2', text: 'Enjoys tea' })], closed: [] };
      expect(await given.store.extractions.next(ann)).toBeNull();
      expect(await given.store.extractions.complete(ended, brought)).toBe(false);
      await given.advance(5);
      await holder.complete('Noted.', { extract: true });
      expect(await given.store.extractions.complete(await given.turn('acme', turn.id), brought)).toBe(false);
      expect(await given.store.extractions.next(ann)).toBeNull();
      expect((await given.store.memories.list(ann, all)).items).toEqual([]);
      const fresh = await owing();
      expect(await given.store.extractions.next(ann)).toMatchObject({ turn: { id: fresh.id }, tombstones: [] });
    });
  });
}
