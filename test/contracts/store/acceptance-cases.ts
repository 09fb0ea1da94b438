import { ON_BUSY } from '@turnwire/shared/domain/turn';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, refusal, StoreFixture } from './fixture.ts';

export function acceptanceCases(make: MakeStore): void {
  describe('accepting a turn', () => {
    const given = new StoreFixture(make);

    test.each(ON_BUSY)('on an idle session starts it, whatever onBusy says (%s)', async (onBusy) => {
      const key = await given.session();
      const accepted = await given.accept(key, onBusy);
      expect(accepted).toMatchObject({ position: 0, cursor: 0, turn: { number: 1, status: 'QUEUED', attempt: 0 } });
      const { session, turns } = await given.snapshot(key, [accepted.turn.id]);
      expect(session).toEqual(accepted.session);
      expect(session).toMatchObject({ state: 'RUNNING', turnCount: 1, activeTurnId: accepted.turn.id });
      expect(turns).toEqual([accepted.turn]);
    });

    test('enqueue waits behind the running one, in the order of acceptance', async () => {
      const key = await given.session();
      const first = await given.accept(key);
      await given.running(key);
      const second = await given.accept(key);
      const third = await given.accept(key);
      expect([second.position, third.position]).toEqual([1, 2]);
      expect([second.turn.number, third.turn.number]).toEqual([2, 3]);
      const { session } = await given.snapshot(key, [first.turn.id, second.turn.id, third.turn.id]);
      expect(session).toMatchObject({ state: 'RUNNING', activeTurnId: first.turn.id, turnCount: 3 });
    });

    test('20 at once become 20 turns, numbered without a hole, each runs once', async () => {
      const key = await given.session();
      const accepted = await Promise.all(Array.from({ length: 20 }, () => given.accept(key)));
      expect(accepted.map(({ turn }) => turn.number).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
      const ran: number[] = [];
      for (let i = 0; i < 20; i += 1) {
        const holder = await given.running(key);
        ran.push(holder.turn.number);
        await holder.complete();
        await holder.release();
      }
      expect(ran).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
      const { session } = await given.snapshot(
        key,
        accepted.map(({ turn }) => turn.id),
      );
      expect(session).toMatchObject({ state: 'IDLE', dueAt: null });
    });

    test('reject is refused while running and while waiting', async () => {
      const key = await given.session();
      await given.accept(key);
      expect((await refusal(given.accept(key, 'reject'), 'session_busy')).details).toEqual({ state: 'RUNNING' });
      const waiting = await given.waiting(1);
      expect((await refusal(given.accept(waiting.key, 'reject'), 'session_busy')).details).toEqual({
        state: 'WAITING',
      });
      expect(await given.read(waiting.key)).toMatchObject({ state: 'WAITING', turnCount: 1 });
    });

    test('20 at once with reject: one is accepted', async () => {
      const key = await given.session();
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => given.accept(key, 'reject')));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await given.read(key)).turnCount).toBe(1);
    });

    test.each([
      ['interrupt', 'interrupted'],
      ['rollback', 'rolled_back'],
    ] as const)('%s stores the intent to cancel the running one in the same write', async (onBusy, reason) => {
      const key = await given.session();
      const first = await given.accept(key);
      const holder = await given.running(key);
      const second = await given.accept(key, onBusy);
      expect((await given.turn('acme', first.turn.id)).cancel?.reason).toBe(reason);
      expect((await holder.renew(LEASE_MS)).cancel?.reason).toBe(reason);
      const result = await holder.finish({ status: 'COMPLETED' }, { text: 'half an ans' });
      expect(result.turn.status).toBe('CANCELLED');
      const { messages, session } = await given.snapshot(key, [first.turn.id, second.turn.id]);
      expect(session).toMatchObject({ state: 'RUNNING', activeTurnId: second.turn.id });
      const kept = messages.map(({ content, status }) => [content, status]);
      expect(kept).toEqual(
        onBusy === 'rollback'
          ? []
          : [
              [first.turn.text, undefined],
              ['half an ans', 'partial'],
            ],
      );
    });

    test.each([
      ['interrupt', 'interrupted'],
      ['rollback', 'rolled_back'],
    ] as const)('%s ends the next in line where the first is about to end', async (onBusy, reason) => {
      const key = await given.session();
      const first = await given.accept(key);
      await given.running(key);
      const second = await given.accept(key, 'interrupt');
      const third = await given.accept(key);
      const fourth = await given.accept(key, onBusy);
      const ids = [first, second, third, fourth].map(({ turn }) => turn.id);
      const turns = await Promise.all(ids.map((id) => given.turn('acme', id)));
      expect(turns.map(({ status, cancel }) => [status, cancel?.reason])).toEqual([
        ['RUNNING', 'interrupted'],
        ['CANCELLED', reason],
        ['QUEUED', undefined],
        ['QUEUED', undefined],
      ]);
    });

    test('rollback removes a turn that is about to end for another reason', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await given.store.sessions.cancelTurn(key, { turnId: null }, null);
      const { requestedAt } = (await given.turn('acme', turn.id)).cancel!;
      const next = await given.accept(key, 'rollback');
      expect((await given.turn('acme', turn.id)).cancel).toEqual({ reason: 'rolled_back', requestedAt });
      await given.store.sessions.cancelTurn(key, { turnId: null }, null);
      expect((await given.turn('acme', turn.id)).cancel?.reason).toBe('rolled_back');
      await holder.finish({ status: 'CANCELLED' }, { text: 'half an ans' });
      expect((await given.snapshot(key, [turn.id, next.turn.id])).messages).toEqual([]);
    });

    test.each(['interrupt', 'rollback'] as const)('%s ends a waiting turn and closes its calls', async (onBusy) => {
      const { key, turnId, callIds } = await given.waiting(2);
      const second = await given.accept(key, onBusy);
      expect(await given.read(key)).toMatchObject({ state: 'RUNNING', interrupt: null, activeTurnId: turnId });
      const holder = given.holder(key);
      const claim = await holder.claim(LEASE_MS);
      expect(claim).toMatchObject({ turn: { id: turnId }, forcedEnd: { status: 'CANCELLED' } });
      await holder.finish({ status: 'CANCELLED' });
      const { messages, toolCalls } = await given.snapshot(key, [turnId, second.turn.id]);
      expect(toolCalls.map(({ id, state }) => [id, state])).toEqual(callIds.map((id) => [id, 'rejected']));
      expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(onBusy === 'rollback' ? 0 : 2);
      expect(holder.tail.terminalEvents(turnId)).toEqual(['cancelled']);
    });

    test('enqueue on a waiting session queues behind it and leaves it waiting', async () => {
      const { key, turnId } = await given.waiting(1);
      const second = await given.accept(key);
      expect(second.position).toBe(1);
      const { session } = await given.snapshot(key, [turnId, second.turn.id]);
      expect(session).toMatchObject({ state: 'WAITING', activeTurnId: turnId });
    });

    test('an ended task takes no turn', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete('Done.', { mode: 'task' });
      for (const onBusy of ON_BUSY) await refusal(given.accept(key, onBusy), 'session_terminal');
    });

    test('an unknown session is not found', async () => {
      await refusal(given.accept({ tenantId: 'acme', sessionId: 'ses_none' }), 'not_found');
    });

    test('every event of the turn has a greater id than the cursor', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      const { turn, cursor } = await given.accept(key);
      await holder.release();
      const second = await given.running(key);
      await second.complete();
      const ids = second.tail.entries.filter(({ turnId }) => turnId === turn.id).map(({ id }) => id);
      expect(ids.length).toBeGreaterThan(1);
      expect(Math.min(...ids)).toBeGreaterThan(cursor);
    });
  });
}
