import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, StoreFixture } from './fixture.ts';

const RETRY_MS = 5_000;

export function dueCases(make: MakeStore): void {
  describe('the sweep', () => {
    const given = new StoreFixture(make);
    const due = async (limit = 10) =>
      (await given.store.turns.takeDue(limit, RETRY_MS)).map(({ sessionId }) => sessionId);

    test('finds an accepted turn that nobody was woken for, once per retry time', async () => {
      const key = await given.session();
      expect(await due()).toEqual([]);
      const { turn } = await given.accept(key);
      const found = await given.store.turns.takeDue(10, RETRY_MS);
      expect(found).toEqual([{ ...key, turnId: turn.id }]);
      expect(await due()).toEqual([]);
      await given.advance(RETRY_MS + 1);
      expect(await due()).toEqual([key.sessionId]);
    });

    test('leaves a session alone while its lease runs, and finds it when that has run out', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      expect(await due()).toEqual([]);
      await given.advance(LEASE_MS / 2);
      await holder.renew(LEASE_MS);
      await given.advance(LEASE_MS * 0.75);
      expect(await due()).toEqual([]);
      await given.advance(LEASE_MS);
      expect(await due()).toEqual([key.sessionId]);
    });

    test('finds it again at once when its due time has changed', async () => {
      const key = await given.session();
      await given.accept(key);
      expect(await due()).toEqual([key.sessionId]);
      const holder = await given.running(key);
      await given.advance(2);
      await holder.release();
      expect(await due()).toEqual([key.sessionId]);
    });

    test('is not told again by a write that leaves the due time as it was', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await given.leasesRunOut();
      expect(await due()).toEqual([key.sessionId]);
      await holder.step(1); // late, but nobody else has claimed
      expect(await due()).toEqual([]);
      await holder.renew(LEASE_MS);
      await given.leasesRunOut();
      expect(await due()).toEqual([key.sessionId]);
    });

    test('finds an approval when it expires, not before, and one without expiry never', async () => {
      const expiring = await given.waiting(1, { ttlMs: LEASE_MS * 2 });
      await given.waiting(1);
      expect(await due()).toEqual([]);
      await given.advance(LEASE_MS * 2 + 50);
      expect(await due()).toEqual([expiring.key.sessionId]);
    });

    test('finds what nobody published, and nothing once all is done', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      await given.leasesRunOut();
      expect(await due()).toEqual([key.sessionId]);
      const publisher = given.holder(key);
      await publisher.claim(LEASE_MS);
      await publisher.release();
      await given.advance(RETRY_MS * 2);
      expect(await due()).toEqual([]);
    });

    test('finds what a holder that let go had not published, where nothing else is to be done', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      await given.store.turns.release(key, { write: { ...holder.write, publishedId: 0 } });
      expect(await given.read(key)).toMatchObject({ state: 'IDLE', outbox: [{ event: { type: 'done' } }] });
      expect(await due()).toEqual([key.sessionId]);
    });

    test('takes the longest due first, at most the limit, and comes round to the rest', async () => {
      const keys: string[] = [];
      for (let i = 0; i < 5; i += 1) {
        const key = await given.session(i % 2 === 0 ? 'acme' : 'globex');
        await given.accept(key);
        keys.push(key.sessionId);
        await given.advance(5);
      }
      expect(await due(2)).toEqual(keys.slice(0, 2));
      expect(await due(2)).toEqual(keys.slice(2, 4));
      expect(await due(2)).toEqual(keys.slice(4));
      expect(await due(2)).toEqual([]);
    });

    test('gives each session to one of many sweepers', async () => {
      for (let i = 0; i < 10; i += 1) await given.accept(await given.session());
      const found = (await Promise.all(Array.from({ length: 5 }, () => due(4)))).flat();
      expect(new Set(found).size).toBe(found.length);
      expect([...found, ...(await due(10))]).toHaveLength(10);
    });
  });
}
