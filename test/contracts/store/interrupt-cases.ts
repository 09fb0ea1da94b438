import type { SettleInterrupt } from '@turnwire/shared/domain/decide-settle';
import type { Decision } from '@turnwire/shared/domain/interrupt';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, refusal, StoreFixture } from './fixture.ts';

const NOTHING: SettleInterrupt = { interruptId: null, decisions: {}, others: null, text: null };

export function interruptCases(make: MakeStore): void {
  describe('an interrupt', () => {
    const given = new StoreFixture(make);
    const settle = async (key: SessionKey, command: Partial<SettleInterrupt>) =>
      (await given.store.sessions.settleInterrupt(key, { ...NOTHING, ...command }, null)).value;

    test('is stored with its event in one write, and holds no worker', async () => {
      const { key, turnId, callIds, interruptId } = await given.waiting(2, { ttlMs: 60_000 });
      const { session, turns, toolCalls } = await given.snapshot(key, [turnId]);
      expect(session).toMatchObject({ state: 'WAITING', lease: { holder: null }, activeTurnId: turnId, outbox: [] });
      expect(session.interrupt).toMatchObject({ id: interruptId, turnId, reason: 'tool_approval', onExpire: 'reject' });
      expect(session.interrupt?.toolCalls.map(({ id }) => id)).toEqual(callIds);
      expect(session.dueAt).toBe(session.interrupt?.expiresAt);
      expect(turns[0]?.status).toBe('WAITING');
      expect(toolCalls.map(({ state }) => state)).toEqual(['waiting', 'waiting']);
      expect(given.holder(key).tail.entries.at(-1)?.type).toBe('interrupt');
    });

    test.each<[string, Decision]>([
      ['approve', { action: 'approve' }],
      ['reject', { action: 'reject', reason: 'too dear' }],
      ['edit', { action: 'edit', arguments: { city: 'Bergen' } }],
      ['respond', { action: 'respond', result: { temperature: 3 } }],
    ])('is settled by %s for all its calls', async (_name, decision) => {
      const { key, turnId, interruptId } = await given.waiting(2);
      const settled = await settle(key, { interruptId, others: decision });
      expect(settled).toMatchObject({ settled: true, turn: { status: 'QUEUED', queuedAs: 'resumed' } });
      const { session, toolCalls } = await given.snapshot(key, [turnId]);
      expect(session).toMatchObject({ state: 'RUNNING', interrupt: null });
      expect(session).toEqual(settled.session);
      expect(toolCalls.map((call) => [call.state, call.decision])).toEqual([
        ['planned', decision],
        ['planned', decision],
      ]);
    });

    test('waits on while decisions are missing; the last one makes it run, first in line', async () => {
      const { key, turnId, callIds } = await given.waiting(2);
      const queued = await given.accept(key);
      const partial = await settle(key, { decisions: { [callIds[1]!]: { action: 'approve' } } });
      expect(partial).toMatchObject({ settled: false, session: { state: 'WAITING' } });
      expect((await given.snapshot(key, [turnId, queued.turn.id])).toolCalls.map(({ state }) => state)).toEqual([
        'waiting',
        'waiting',
      ]);
      const last = await settle(key, { decisions: { [callIds[0]!]: { action: 'reject' } } });
      expect(last).toMatchObject({ settled: true, session: { state: 'RUNNING', activeTurnId: turnId } });
      const holder = given.holder(key);
      expect((await holder.claim(LEASE_MS))?.turn?.id).toBe(turnId);
      const resumed = holder.tail.entries.filter(({ type }) => type === 'turn.resumed');
      expect(resumed).toHaveLength(1);
      expect(resumed[0]!.id).toBeGreaterThan(last.cursor);
    });

    test('keeps a decision: the same again is taken, another is a conflict', async () => {
      const { key, callIds } = await given.waiting(2);
      const decide = (decision: Decision) => settle(key, { decisions: { [callIds[0]!]: decision } });
      await decide({ action: 'edit', arguments: { a: 1, b: 2 } });
      await decide({ action: 'edit', arguments: { b: 2, a: 1 } });
      await refusal(decide({ action: 'edit', arguments: { a: 1, b: 3 } }), 'decision_conflict');
      await refusal(decide({ action: 'approve' }), 'decision_conflict');
      const { session } = await settle(key, { others: { action: 'approve' } });
      expect(session.state).toBe('RUNNING');
      const calls = await given.store.sessions.toolCalls('acme', (await given.read(key)).activeTurnId!);
      expect(calls.map(({ decision }) => decision?.action)).toEqual(['edit', 'approve']);
    });

    test('of 10 contrary decisions at once, one stands', async () => {
      const { key, turnId, callIds } = await given.waiting(2);
      const attempts = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) =>
          settle(key, { decisions: { [callIds[0]!]: { action: 'respond', result: i } } }),
        ),
      );
      expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const winner = attempts.findIndex(({ status }) => status === 'fulfilled');
      expect((await given.store.sessions.toolCalls('acme', turnId))[0]?.decision).toEqual({
        action: 'respond',
        result: winner,
      });
    });

    test('that is not the open one, or a call that is not of it, is stale', async () => {
      const { key, turnId, interruptId } = await given.waiting(1);
      const before = await given.snapshot(key, [turnId]);
      const wrong = await refusal(
        settle(key, { interruptId: 'int_old', others: { action: 'approve' } }),
        'interrupt_stale',
      );
      expect(wrong.details).toEqual({ interruptId });
      await refusal(settle(key, { decisions: { call_none: { action: 'approve' } } }), 'interrupt_stale');
      await refusal(settle(key, { text: 'go on' }), 'invalid_request');
      expect(await given.snapshot(key, [turnId])).toEqual(before);
    });

    test('is refused where none is open, naming the state', async () => {
      const key = await given.session();
      const idle = await refusal(settle(key, { others: { action: 'approve' } }), 'session_not_waiting');
      expect(idle.details).toEqual({ state: 'IDLE' });
      const waiting = await given.waiting(1);
      await settle(waiting.key, { others: { action: 'approve' } });
      const again = await refusal(settle(waiting.key, { others: { action: 'reject' } }), 'session_not_waiting');
      expect(again.details).toEqual({ state: 'RUNNING' });
      await refusal(settle({ ...key, sessionId: 'ses_none' }, {}), 'not_found');
    });

    test('takes no decision from its expiry on, by the store’s clock', async () => {
      const { key, turnId } = await given.waiting(1, { ttlMs: LEASE_MS });
      await given.leasesRunOut();
      const before = await given.snapshot(key, [turnId]);
      await refusal(settle(key, { others: { action: 'approve' } }), 'interrupt_expired');
      expect(await given.snapshot(key, [turnId])).toEqual(before);
    });

    test.each(['idle', 'repeated_error'] as const)(
      'that pauses (%s) goes on with a text for the model',
      async (reason) => {
        const key = await given.session();
        const { turn } = await given.accept(key);
        const holder = await given.running(key);
        await holder.suspend({ reason });
        await holder.release();
        const { session } = await given.snapshot(key, [turn.id]);
        expect(session).toMatchObject({
          dueAt: null,
          interrupt: { reason, expiresAt: null, toolCalls: [], beforeNodes: ['model'] },
        });
        await refusal(settle(key, { decisions: { call_1: { action: 'approve' } } }), 'invalid_request');
        await settle(key, { text: 'try the other door' });
        const claim = await given.holder(key).claim(LEASE_MS);
        expect(claim?.turn?.checkpoint?.reminders).toEqual(['try the other door']);
      },
    );

    test('that is settled before its holder let go is run by the next one', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.step(1);
      await holder.suspend({ callIds: holder.toolCalls.map(({ id }) => id) });
      await settle(key, { others: { action: 'approve' } });
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      expect(await holder.release()).toEqual({ wake: true });
      expect((await given.holder(key).claim(LEASE_MS))?.turn).toMatchObject({ attempt: 1, status: 'RUNNING' });
    });
  });
}
