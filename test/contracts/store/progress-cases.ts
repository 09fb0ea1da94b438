import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, refusal, StoreFixture } from './fixture.ts';

const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
});

export function progressCases(make: MakeStore): void {
  describe('a running turn', () => {
    const given = new StoreFixture(make);

    test('begins with the user’s message, its prompt and its agent’s revision', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      const { turns, messages } = await given.snapshot(key, [turn.id]);
      expect(turns[0]).toMatchObject({ agentRevision: 1, checkpoint: { systemPrompt: 'Be helpful.' } });
      expect(messages).toMatchObject([{ seq: 1, role: 'user', content: turn.text, turnId: turn.id }]);
      expect(holder.turn).toEqual(turns[0]);
    });

    test('stores a step’s message and calls before they start', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      const { toolCalls, outbox } = await holder.step(2, usage(10, 5));
      expect(toolCalls.map(({ state, position }) => [state, position])).toEqual([
        ['planned', 0],
        ['planned', 1],
      ]);
      expect(outbox.map(({ event }) => event.type).filter((type) => type === 'tool.call')).toHaveLength(2);
      const { turns, messages } = await given.snapshot(key, [turn.id]);
      expect(turns[0]).toMatchObject({ steps: 1, usage: usage(10, 5) });
      expect(messages[1]?.toolCalls?.map(({ id }) => id)).toEqual(toolCalls.map(({ id }) => id));
      expect(await given.store.sessions.toolCalls('acme', turn.id)).toEqual(toolCalls);
    });

    test('takes outcomes as they come, one by one and in any order', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.step(3);
      const ids = holder.toolCalls.map(({ id }) => id);
      await holder.start(ids);
      await holder.outcome([ids[2]!]);
      await holder.outcome([ids[0]!, ids[1]!], 'failed');
      const { messages, toolCalls } = await given.snapshot(key, [turn.id]);
      expect(toolCalls.map(({ state }) => state)).toEqual(['failed', 'failed', 'done']);
      expect(toolCalls.every(({ startedAt, finishedAt, result }) => startedAt && finishedAt && result)).toBe(true);
      expect(messages.slice(2).map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
        [ids[2], undefined],
        [ids[0], 'error'],
        [ids[1], 'error'],
      ]);
    });

    test('refuses a second outcome of a call, and one of a call that it does not have', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.step(2);
      const [first, second] = holder.toolCalls.map(({ id }) => id);
      await holder.outcome([first!]);
      const before = await given.snapshot(key, [turn.id]);
      await refusal(holder.outcome([first!], 'failed'), 'transition_refused');
      await refusal(holder.outcome([second!, first!]), 'transition_refused');
      await refusal(holder.outcome(['call_none']), 'transition_refused');
      await refusal(holder.start([first!]), 'transition_refused');
      expect(await given.snapshot(key, [turn.id])).toEqual(before);
    });

    test('refuses a step out of turn', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      const command = { turnId: turn.id, message: { id: 'msg_x', content: '' }, calls: [], usage: usage(0, 0) };
      for (const step of [0, 2]) {
        await refusal(
          given.store.turns.recordStep(key, { ...command, write: holder.write, step }),
          'transition_refused',
        );
      }
    });

    test('keeps the arguments that a call was started with', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      await holder.step(1);
      await holder.start([holder.toolCalls[0]!.id], { city: 'Oslo', nested: { a: [1, 'ü', null] } });
      const calls = await given.store.sessions.toolCalls('acme', turn.id);
      expect(calls[0]).toMatchObject({ state: 'started', arguments: { city: 'Oslo', nested: { a: [1, 'ü', null] } } });
    });

    test('learns of a cancel with its next write', async () => {
      const key = await given.session();
      const { turn } = await given.accept(key);
      const holder = await given.running(key);
      const { value } = await given.store.sessions.cancelTurn(key, { turnId: turn.id }, null);
      expect(value.turn).toMatchObject({ id: turn.id, status: 'RUNNING', cancel: { reason: 'requested' } });
      expect((await holder.step(1)).cancel).toMatchObject({ reason: 'requested' });
      expect((await holder.renew(LEASE_MS)).cancel).toMatchObject({ reason: 'requested' });
      const suspended = await holder.suspend({ callIds: holder.toolCalls.map(({ id }) => id) });
      expect(suspended.cancel).toMatchObject({ reason: 'requested' });
      expect(await given.read(key)).toMatchObject({ state: 'RUNNING', interrupt: null });
    });

    test('cancelling is repeatable, and without effect where nothing is active or the turn has ended', async () => {
      const key = await given.session();
      const cancel = (turnId: string | null) => given.store.sessions.cancelTurn(key, { turnId }, null);
      expect((await cancel(null)).value.turn).toBeNull();
      const { turn } = await given.accept(key);
      const first = await cancel(null);
      const again = await cancel(turn.id);
      expect(again.value.turn).toEqual(first.value.turn);
      const holder = given.holder(key);
      await holder.claim(LEASE_MS);
      await holder.finish({ status: 'CANCELLED' });
      const before = await given.snapshot(key, [turn.id]);
      expect((await cancel(turn.id)).value.turn).toBeNull();
      expect((await cancel('turn_none')).value.turn).toBeNull();
      expect(await given.snapshot(key, [turn.id])).toEqual(before);
    });

    test('is not disturbed when one behind it is cancelled; that one ends at once', async () => {
      const key = await given.session();
      const first = await given.accept(key);
      const holder = await given.running(key);
      const second = await given.accept(key);
      const third = await given.accept(key);
      const { value } = await given.store.sessions.cancelTurn(key, { turnId: second.turn.id }, null);
      expect(value.turn).toMatchObject({ id: second.turn.id, status: 'CANCELLED' });
      expect(await holder.renew(LEASE_MS)).toMatchObject({ cancel: null, outboxWaits: true });
      await holder.adoptOutbox();
      expect(holder.tail.terminalEvents(second.turn.id)).toEqual(['cancelled']);
      expect((await holder.renew(LEASE_MS)).outboxWaits).toBe(false);
      await holder.complete();
      const { session } = await given.snapshot(key, [first.turn.id, second.turn.id, third.turn.id]);
      expect(session.activeTurnId).toBe(third.turn.id);
    });

    test('keeps large and odd texts as they are', async () => {
      const key = await given.session();
      const text = `${'漢字 🦀 \u0000 "\\ \u2028'.repeat(20_000)}`;
      const { value } = await given.store.sessions.acceptTurn(
        key,
        { turnId: 'turn_big', text, onBusy: 'enqueue' },
        null,
      );
      expect(value.turn.text).toBe(text);
      const holder = await given.running(key);
      await holder.complete(text);
      expect((await given.messages(key)).map(({ content }) => content)).toEqual([text, text]);
    });
  });
}
