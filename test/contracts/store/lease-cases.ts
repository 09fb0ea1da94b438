import { MAX_ATTEMPTS } from '@turnwire/shared/domain/turn';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import type { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, refusal, StoreFixture } from './fixture.ts';

export function leaseCases(make: MakeStore): void {
  describe('a lease', () => {
    const given = new StoreFixture(make);

    test('is claimed by one of many', async () => {
      const key = await given.session();
      await given.accept(key);
      const claims = await Promise.all(Array.from({ length: 10 }, () => given.holder(key).claim(LEASE_MS)));
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    });

    test('is not given without work, nor of an unknown session', async () => {
      const key = await given.session();
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      expect(await given.holder({ ...key, sessionId: 'ses_none' }).claim(LEASE_MS)).toBeNull();
      expect((await given.read(key)).lease.token).toBe(0);
    });

    test('is held until it runs out, by the store’s clock, and renewing puts that off', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await given.advance(LEASE_MS * 0.6);
      const { expiresAt } = await holder.renew(LEASE_MS);
      expect((await given.read(key)).lease.expiresAt).toBe(expiresAt);
      await given.advance(LEASE_MS * 0.6);
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      await given.advance(LEASE_MS * 0.6);
      expect((await given.holder(key).claim(LEASE_MS))?.lease.token).toBe(holder.token + 1);
    });

    test('that ran out but was claimed by nobody still writes', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await given.leasesRunOut();
      await holder.step(1);
      await holder.renew(LEASE_MS);
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
    });

    test.each<[string, (zombie: TurnHolder) => Promise<unknown>]>([
      ['renew', (zombie) => zombie.renew(LEASE_MS)],
      ['adoptOutbox', (zombie) => zombie.adoptOutbox()],
      ['begin', (zombie) => zombie.begin()],
      ['recordStep', (zombie) => zombie.step(1)],
      ['startCalls', (zombie) => zombie.start(zombie.toolCalls.map(({ id }) => id))],
      ['recordOutcomes', (zombie) => zombie.outcome(zombie.toolCalls.map(({ id }) => id))],
      ['suspend', (zombie) => zombie.suspend({ callIds: zombie.toolCalls.map(({ id }) => id) })],
      ['finish', (zombie) => zombie.complete()],
      ['release', (zombie) => zombie.release()],
    ])('that passed to another refuses %s and stores nothing', async (_name, write) => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const zombie = await given.running(key);
      await zombie.step(2);
      await given.leasesRunOut();
      await given.holder(key).claim(LEASE_MS);
      const before = await given.snapshot(key, [turn.id]);
      await refusal(write(zombie), 'lease_lost');
      expect(await given.snapshot(key, [turn.id])).toEqual(before);
    });

    test('that was released refuses its former holder', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.release();
      await refusal(holder.step(1), 'lease_lost');
      await refusal(holder.release(), 'lease_lost');
      await refusal(holder.renew(LEASE_MS), 'lease_lost');
    });

    test('has a token that grows with every claim, over ends and releases', async () => {
      const key = await given.session();
      const tokens: number[] = [];
      for (let i = 0; i < 3; i += 1) {
        await given.accept(key);
        const released = await given.running(key);
        await released.release();
        const holder = given.holder(key);
        await holder.claim(LEASE_MS);
        await holder.complete();
        await holder.release();
        tokens.push(released.token, holder.token);
      }
      expect(tokens).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });

  describe('a claim', () => {
    const given = new StoreFixture(make);

    test('starts a new turn: attempt 1, turn.started', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = given.holder(key, 'worker-7');
      const claim = await holder.claim(LEASE_MS);
      expect(claim).toMatchObject({ lease: { token: 1, holder: 'worker-7' }, forcedEnd: null, toolCalls: [] });
      expect(claim?.turn).toMatchObject({ id: turn.id, status: 'RUNNING', attempt: 1 });
      expect(claim?.lease.expiresAt).toBe(claim!.lease.claimedAt + LEASE_MS);
      expect(claim?.outbox.map(({ event }) => [event.type, event.data])).toEqual([['turn.started', { attempt: 1 }]]);
      expect(await given.turn('acme', turn.id)).toEqual(claim?.turn);
      expect(await given.read(key)).toEqual(claim?.session);
    });

    test('takes back a released turn: same attempt, turn.reset', async () => {
      const key = await given.session();
      await given.accept(key);
      const first = await given.running(key);
      await first.step(1);
      expect(await first.release()).toEqual({ wake: true });
      const second = given.holder(key);
      const claim = await second.claim(LEASE_MS);
      expect(claim?.turn).toMatchObject({ attempt: 1, steps: 1, status: 'RUNNING', checkpoint: { version: 1 } });
      expect(claim?.toolCalls.map(({ id, state }) => [id, state])).toEqual(
        first.toolCalls.map(({ id }) => [id, 'planned']),
      );
      expect(second.tail.entries.at(-1)?.type).toBe('turn.reset');
      expect(claim?.outbox.at(-1)?.event.data).toEqual({ step: 2 });
    });

    test('recovers a lost turn: turn.reset first, then a new attempt', async () => {
      const key = await given.session();
      await given.accept(key);
      const first = await given.running(key);
      await first.step(2);
      await first.start([first.toolCalls[0]!.id]);
      await given.leasesRunOut();
      const second = given.holder(key);
      const claim = await second.claim(LEASE_MS);
      expect(claim?.turn).toMatchObject({ attempt: 2, steps: 1, status: 'RUNNING' });
      expect(claim?.toolCalls.map(({ state }) => state)).toEqual(['started', 'planned']);
      expect(second.tail.entries.map(({ type }) => type).slice(-2)).toEqual(['turn.reset', 'turn.started']);
    });

    test(`ends a turn that was lost ${MAX_ATTEMPTS} times`, async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        expect((await given.holder(key).claim(LEASE_MS))?.turn?.attempt).toBe(attempt);
        await given.leasesRunOut();
      }
      const last = given.holder(key);
      const claim = await last.claim(LEASE_MS);
      expect(claim?.forcedEnd).toMatchObject({ status: 'FAILED', error: { code: 'attempts_exhausted' } });
      await last.finish(claim!.forcedEnd!);
      expect(await given.turn('acme', turn.id)).toMatchObject({
        status: 'FAILED',
        attempt: MAX_ATTEMPTS,
        error: { code: 'attempts_exhausted' },
      });
      expect(last.tail.terminalEvents(turn.id)).toEqual(['error']);
    });

    test('ends a cancelled turn, whether it had not begun, was lost, or had waited', async () => {
      const queued = await given.session();
      await given.accept(queued);
      const lost = await given.session();
      await given.accept(lost);
      await given.running(lost);
      const waiting = await given.waiting(1);
      for (const key of [queued, lost, waiting.key]) {
        await given.store.sessions.cancelTurn(key, { turnId: null }, null);
      }
      await given.leasesRunOut();
      for (const key of [queued, lost, waiting.key]) {
        const holder = given.holder(key);
        const claim = await holder.claim(LEASE_MS);
        expect(claim?.forcedEnd).toEqual({ status: 'CANCELLED' });
        await holder.finish({ status: 'CANCELLED' });
        expect(await holder.release()).toEqual({ wake: false });
        const { session } = await given.snapshot(key, [claim!.turn!.id]);
        expect(session).toMatchObject({ state: 'IDLE', dueAt: null });
        expect(holder.tail.terminalEvents(claim!.turn!.id)).toEqual(['cancelled']);
      }
    });

    test('resumes a settled turn: same attempt, turn.resumed with the decisions', async () => {
      const { key, callIds } = await given.waiting(2);
      const decisions = {
        [callIds[0]!]: { action: 'reject', reason: 'no' },
        [callIds[1]!]: { action: 'approve' },
      } as const;
      await given.store.sessions.settleInterrupt(key, { interruptId: null, decisions, others: null, text: null }, null);
      const claim = await given.holder(key).claim(LEASE_MS);
      expect(claim).toMatchObject({ forcedEnd: null, turn: { attempt: 1, status: 'RUNNING' } });
      expect(claim?.toolCalls.map(({ state, decision }) => [state, decision?.action])).toEqual([
        ['planned', 'reject'],
        ['planned', 'approve'],
      ]);
      expect(claim?.outbox.at(-1)?.event).toMatchObject({ type: 'turn.resumed', data: { decisions } });
    });

    test('does not touch a turn that waits', async () => {
      const { key } = await given.waiting(1);
      const before = await given.read(key);
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      expect(await given.read(key)).toEqual(before);
    });

    test('settles what is undecided when an approval has expired (reject)', async () => {
      const { key, turnId, callIds } = await given.waiting(2, { ttlMs: LEASE_MS, onExpire: 'reject' });
      const decisions = { [callIds[0]!]: { action: 'approve' } } as const;
      await given.store.sessions.settleInterrupt(key, { interruptId: null, decisions, others: null, text: null }, null);
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      await given.leasesRunOut();
      const claim = await given.holder(key).claim(LEASE_MS);
      expect(claim?.forcedEnd).toBeNull();
      expect(claim?.toolCalls.map(({ state, decision }) => [state, decision?.action])).toEqual([
        ['planned', 'approve'],
        ['planned', 'reject'],
      ]);
      const { session } = await given.snapshot(key, [turnId]);
      expect(session).toMatchObject({ state: 'RUNNING', interrupt: null });
    });

    test.each([
      ['cancel', { status: 'CANCELLED' }, 'cancelled'],
      ['fail', { status: 'FAILED', error: { code: 'interrupt_expired' } }, 'error'],
    ] as const)(
      'ends the turn when an approval has expired (%s), also after another crash',
      async (onExpire, end, event) => {
        const { key, turnId } = await given.waiting(1, { ttlMs: LEASE_MS, onExpire });
        await given.leasesRunOut();
        expect((await given.holder(key).claim(LEASE_MS))?.forcedEnd).toMatchObject(end);
        await given.leasesRunOut();
        const holder = given.holder(key);
        const claim = await holder.claim(LEASE_MS);
        expect(claim?.forcedEnd).toMatchObject(end);
        await holder.finish(claim!.forcedEnd!);
        const { turns } = await given.snapshot(key, [turnId]);
        expect(turns[0]).toMatchObject(end);
        expect(holder.tail.terminalEvents(turnId)).toEqual([event]);
      },
    );

    test('only publishes where no turn is open but the outbox is not empty', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const first = await given.running(key);
      await first.complete();
      const logged = first.tail.entries.length;
      await given.leasesRunOut();
      const second = given.holder(key);
      const claim = await second.claim(LEASE_MS);
      expect(claim).toMatchObject({ turn: null, forcedEnd: null });
      // The same event under the same id: whoever has it already drops it.
      expect(claim?.outbox.at(-1)).toMatchObject({ id: first.tail.lastId, event: { type: 'done', turnId: turn.id } });
      expect(second.tail.entries).toHaveLength(logged);
      await second.release();
      expect(await given.read(key)).toMatchObject({ outbox: [], dueAt: null, state: 'IDLE' });
    });

    test('lets go of a dead holder that had left nothing to do, so that the sweep ends', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      await holder.adoptOutbox(); // drops what is published, and then it dies
      await given.leasesRunOut();
      expect(await given.store.turns.takeDue(10, LEASE_MS)).toHaveLength(1);
      expect(await given.holder(key).claim(LEASE_MS)).toBeNull();
      expect(await given.read(key)).toMatchObject({ dueAt: null, lease: { holder: null } });
      await given.leasesRunOut();
      expect(await given.store.turns.takeDue(10, LEASE_MS)).toEqual([]);
    });
  });
}
