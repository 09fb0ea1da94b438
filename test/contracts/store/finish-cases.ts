import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { refusal, StoreFixture } from './fixture.ts';

const FAILED = { status: 'FAILED', error: { code: 'model_error', message: 'The model failed.' } } as const;

export function finishCases(make: MakeStore): void {
  describe('the end of a turn', () => {
    const given = new StoreFixture(make);

    test('stores answer, usage, state and terminal event in one write', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
      const result = await holder.complete('Forty-two.', { usage });
      expect(result).toMatchObject({ session: { state: 'IDLE' }, turn: { status: 'COMPLETED', usage }, cancel: null });
      const { session, turns, messages } = await given.snapshot(key, [turn.id]);
      expect(session).toEqual(result.session);
      expect(turns).toEqual([result.turn]);
      expect(turns[0]).toMatchObject({
        status: 'COMPLETED',
        steps: 1,
        usage,
        error: null,
        checkpoint: null,
        extraction: 'none',
      });
      expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Forty-two.' });
      expect(messages.at(-1)).not.toHaveProperty('status');
      const done = session.outbox.at(-1)?.event;
      expect(done).toMatchObject({ type: 'done', turnId: turn.id, data: { usage } });
      expect(done?.type === 'done' && done.data.message).toEqual(messages.at(-1));
    });

    test.each([
      ['conversation', { status: 'COMPLETED' }, 'IDLE'],
      ['conversation', FAILED, 'IDLE'],
      ['conversation', { status: 'CANCELLED' }, 'IDLE'],
      ['task', { status: 'COMPLETED' }, 'COMPLETED'],
      ['task', FAILED, 'FAILED'],
      ['task', { status: 'CANCELLED' }, 'CANCELLED'],
    ] as const)('of a %s (%j) leaves the session %s', async (mode, outcome, state) => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.finish(outcome, { text: 'so far', mode });
      const { session, turns, messages } = await given.snapshot(key, [turn.id]);
      expect(session).toMatchObject({ state, activeTurnId: null });
      expect(turns[0]).toMatchObject({ status: outcome.status, error: 'error' in outcome ? outcome.error : null });
      expect(messages.at(-1)?.status).toBe(outcome.status === 'COMPLETED' ? undefined : 'partial');
    });

    test('marks an answer that hit the output limit', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.complete('Once upon a', { truncated: true });
      expect((await given.messages(key)).at(-1)?.status).toBe('truncated');
    });

    test('stores no empty message', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.finish(FAILED);
      expect((await given.snapshot(key, [turn.id])).messages.map(({ role }) => role)).toEqual(['user']);
    });

    test('a stored cancel wins over any outcome', async () => {
      for (const outcome of [{ status: 'COMPLETED' }, FAILED] as const) {
        const key = await given.session();
        const { turn } = await given.accept(key);
        const holder = await given.running(key);
        await given.store.sessions.cancelTurn(key, { turnId: null }, null);
        await holder.finish(outcome, { text: 'partly', extract: true });
        const { turns, messages } = await given.snapshot(key, [turn.id]);
        expect(turns[0]).toMatchObject({ status: 'CANCELLED', error: null, extraction: 'none' });
        expect(messages.at(-1)).toMatchObject({ content: 'partly', status: 'partial' });
        expect(holder.tail.terminalEvents(turn.id)).toEqual(['cancelled']);
      }
    });

    test('answers the calls that it leaves open, right after their message', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.step(3);
      const [done, started] = holder.toolCalls.map(({ id }) => id);
      await holder.start([done!, started!]);
      await holder.outcome([done!]);
      await holder.finish({ status: 'CANCELLED' }, { text: 'more' });
      const { toolCalls, messages } = await given.snapshot(key, [turn.id]);
      expect(toolCalls.map(({ state }) => state)).toEqual(['done', 'unknown', 'rejected']);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant']);
    });

    test('a rolled back one leaves no message, stays readable, and its number is not used again', async () => {
      const key = await given.session();
      const kept = await given.accept(key);
      const first = await given.running(key);
      await first.complete('kept');
      await first.release();
      const rolled = await given.accept(key);
      const holder = await given.running(key);
      await holder.step(1);
      await holder.outcome(holder.toolCalls.map(({ id }) => id));
      const next = await given.accept(key, 'rollback');
      await holder.finish({ status: 'CANCELLED' }, { text: 'half' });
      const { turns, messages } = await given.snapshot(key, [kept.turn.id, rolled.turn.id, next.turn.id]);
      expect(turns.map(({ number, status }) => [number, status])).toEqual([
        [1, 'COMPLETED'],
        [2, 'CANCELLED'],
        [3, 'QUEUED'],
      ]);
      expect(new Set(messages.map(({ turnId }) => turnId))).toEqual(new Set([kept.turn.id]));
      await holder.release();
      await given.running(key);
      const seqs = (await given.messages(key)).map(({ seq }) => seq);
      expect(seqs.at(-1)).toBeGreaterThan(messages.at(-1)!.seq);
    });

    test('of a task cancels what is queued behind it, in the same commit', async () => {
      const key = await given.session();
      const first = await given.accept(key);
      const holder = await given.running(key);
      const behind = [await given.accept(key), await given.accept(key)];
      await holder.complete('Done.', { mode: 'task' });
      const ids = [first, ...behind].map(({ turn }) => turn.id);
      const { session, turns } = await given.snapshot(key, ids);
      expect(session.state).toBe('COMPLETED');
      expect(turns.map(({ status }) => status)).toEqual(['COMPLETED', 'CANCELLED', 'CANCELLED']);
      for (const { turn } of behind) {
        expect(turns.find(({ id }) => id === turn.id)?.cancel?.reason).toBe('session_ended');
        expect(holder.tail.terminalEvents(turn.id)).toEqual(['cancelled']);
      }
    });

    test('by onBusy leaves a task open for the turn that took its place', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      const next = await given.accept(key, 'interrupt');
      await holder.finish({ status: 'CANCELLED' }, { mode: 'task' });
      expect(await given.read(key)).toMatchObject({ state: 'RUNNING', activeTurnId: next.turn.id });
    });

    test('happens once', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.complete();
      const before = await given.snapshot(key, [turn.id]);
      await refusal(holder.complete(), 'transition_refused');
      await refusal(holder.step(1), 'transition_refused');
      expect(await given.snapshot(key, [turn.id])).toEqual(before);
    });
  });
}
