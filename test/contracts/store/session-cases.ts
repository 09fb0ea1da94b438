import type { Page } from '@turnwire/shared/domain/page';
import type { Session } from '@turnwire/shared/domain/session';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, refusal, StoreFixture } from './fixture.ts';

export function sessionCases(make: MakeStore): void {
  describe('sessions', () => {
    const given = new StoreFixture(make);

    test('are created idle and read back as they were answered', async () => {
      const input = {
        id: 'ses_1',
        tenantId: 'acme',
        userId: 'ann',
        agentId: 'support',
        metadata: { a: [1, null, '✓'] },
      };
      const { value, replayed } = await given.store.sessions.create(input, null);
      expect(replayed).toBe(false);
      expect(value).toMatchObject({
        ...input,
        state: 'IDLE',
        turnCount: 0,
        activeTurnId: null,
        dueAt: null,
        outbox: [],
      });
      expect(await given.store.sessions.get({ tenantId: 'acme', sessionId: 'ses_1' })).toEqual(value);
      expect(await given.store.sessions.get({ tenantId: 'acme', sessionId: 'ses_2' })).toBeNull();
    });

    test('are listed newest first, by user and state, in pages without gap or repetition', async () => {
      const made: string[] = [];
      for (let i = 0; i < 7; i += 1) {
        const key = await given.session('acme', i % 2 === 0 ? 'ann' : 'bob');
        if (i < 3) await given.accept(key);
        made.unshift(key.sessionId);
        await given.advance(2);
      }
      const list = async (userId: string | null, state: 'IDLE' | 'RUNNING' | null, limit = 2) => {
        const found: string[] = [];
        let page: Page<Session> | null = null;
        do {
          page = await given.store.sessions.list({
            tenantId: 'acme',
            userId,
            state,
            limit,
            cursor: page?.nextCursor ?? null,
          });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          found.push(...page.items.map(({ id }) => id));
        } while (page.nextCursor !== null);
        return found;
      };
      expect(await list(null, null)).toEqual(made);
      expect(await list(null, null, 7)).toEqual(made);
      expect(await list('ann', null)).toEqual(made.filter((_, i) => i % 2 === 0));
      expect(await list(null, 'RUNNING')).toEqual(made.slice(4));
      expect(await list('ann', 'RUNNING')).toEqual([made[4], made[6]]);
      expect(await list('carl', null)).toEqual([]);
    });

    test('a cursor outlives the session that it points at', async () => {
      for (let i = 0; i < 4; i += 1) {
        await given.session();
        await given.advance(2);
      }
      const query = { tenantId: 'acme', userId: null, state: null, limit: 2 };
      const first = await given.store.sessions.list({ ...query, cursor: null });
      await given.store.sessions.delete({ tenantId: 'acme', sessionId: first.items[1]!.id });
      const second = await given.store.sessions.list({ ...query, cursor: first.nextCursor });
      expect(second.items).toHaveLength(2);
      expect(second.nextCursor).toBeNull();
    });

    test('a bad cursor is refused, with its path', async () => {
      const key = await given.session();
      for (const cursor of ['', 'nonsense', 'bm9uc2Vuc2U', '__________']) {
        const page = { limit: 10, cursor };
        const query = { ...page, tenantId: 'acme', userId: null, state: null };
        const refusals = await Promise.all([
          refusal(given.store.sessions.list(query), 'invalid_request'),
          refusal(given.store.sessions.messages(key, page), 'invalid_request'),
          refusal(given.store.agents.list('acme', page), 'invalid_request'),
          refusal(given.store.tools.list('acme', page), 'invalid_request'),
          refusal(given.store.memories.list({ tenantId: 'acme', userId: 'ann' }, page), 'invalid_request'),
        ]);
        for (const { details } of refusals) expect(details).toEqual({ path: 'cursor' });
      }
    });

    test('list their messages by seq in pages, and null if unknown', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      for (let i = 0; i < 3; i += 1) {
        await holder.step(1);
        await holder.outcome([holder.toolCalls.at(-1)!.id]);
      }
      await holder.complete();
      const all = await given.messages(key);
      expect(all.map(({ role }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
        'tool',
        'assistant',
        'tool',
        'assistant',
      ]);
      expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      const first = await given.store.sessions.messages(key, { limit: 5, cursor: null });
      const second = await given.store.sessions.messages(key, { limit: 5, cursor: first!.nextCursor });
      expect([...first!.items, ...second!.items]).toEqual(all);
      expect(second!.nextCursor).toBeNull();
      expect(
        await given.store.sessions.messages({ ...key, sessionId: 'ses_none' }, { limit: 5, cursor: null }),
      ).toBeNull();
      expect((await given.store.sessions.toolCalls('acme', turn.id)).map(({ step }) => step)).toEqual([1, 2, 3]);
      expect(await given.store.sessions.toolCalls('acme', 'turn_none')).toEqual([]);
      expect(await given.store.sessions.turn('acme', 'turn_none')).toBeNull();
    });

    test('answer their newest messages within limits, oldest first', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.step(2);
      await holder.outcome(holder.toolCalls.map(({ id }) => id));
      await holder.complete('x'.repeat(100));
      const all = await given.messages(key);
      const history = (maxMessages: number, maxChars: number) =>
        given.store.turns.history(key, { maxMessages, maxChars });
      expect(await history(200, 100_000)).toEqual(all);
      expect(await history(2, 100_000)).toEqual(all.slice(-2));
      expect(await history(200, 0)).toEqual(all.slice(-1));
      const lastTwoBeforeTheAnswer = all.slice(-3, -1).reduce((sum, { content }) => sum + content.length, 0);
      expect(await history(200, lastTwoBeforeTheAnswer)).toEqual(all.slice(-3));
      expect(await history(200, lastTwoBeforeTheAnswer - 1)).toEqual(all.slice(-2));
      expect(
        await given.store.turns.history({ ...key, sessionId: 'ses_none' }, { maxMessages: 5, maxChars: 5 }),
      ).toEqual([]);
    });

    test('a long history is read from its end', async () => {
      const key = await given.session();
      for (let i = 0; i < 130; i += 1) {
        await given.accept(key);
        const holder = await given.running(key);
        await holder.complete(`answer ${i}`);
        await holder.release();
      }
      const history = await given.store.turns.history(key, { maxMessages: 250, maxChars: 100_000 });
      expect(history.map(({ seq }) => seq)).toEqual(Array.from({ length: 250 }, (_, i) => i + 11));
    });

    test('deleting one removes all that is its own, and its holder has lost its lease', async () => {
      const key = await given.session();
      const other = await given.session();
      const { turn } = await given.accept(key);
      await given.accept(other);
      const holder = await given.running(key);
      await holder.step(1);
      const before = await given.read(key);
      expect(await given.store.sessions.delete(key)).toEqual(before);
      expect(await given.store.sessions.delete(key)).toBeNull();
      expect(await given.store.sessions.get(key)).toBeNull();
      expect(await given.store.sessions.turn('acme', turn.id)).toBeNull();
      expect(await given.store.sessions.toolCalls('acme', turn.id)).toEqual([]);
      expect(await given.store.sessions.messages(key, { limit: 10, cursor: null })).toBeNull();
      expect(await given.store.turns.history(key, { maxMessages: 10, maxChars: 10 })).toEqual([]);
      await refusal(holder.start(holder.toolCalls.map(({ id }) => id)), 'lease_lost');
      await refusal(holder.renew(LEASE_MS), 'lease_lost');
      await refusal(holder.release(), 'lease_lost');
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      await refusal(given.accept(key), 'not_found');
      await given.leasesRunOut();
      const due = await given.store.turns.takeDue(10, 1000);
      expect(due.map(({ sessionId }) => sessionId)).toEqual([other.sessionId]);
    });
  });
}
