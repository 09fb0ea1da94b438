import { eventId } from '@turnwire/shared/domain/event';
import type { MakeStore } from '@turnwire/shared/testing/store-harness';
import { describe, expect, test } from 'vitest';
import { LEASE_MS, StoreFixture } from './fixture.ts';

export function outboxCases(make: MakeStore): void {
  describe('the outbox', () => {
    const given = new StoreFixture(make);

    test('gives ids that start with the token, go up by one, and leave room for deltas', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      holder.delta();
      holder.delta();
      await holder.step(2);
      await holder.complete();
      const n = (place: number) => eventId(1, place);
      expect(holder.tail.entries.map(({ id, type }) => [id, type])).toEqual([
        [n(1), 'turn.started'],
        [n(2), 'turn.delta'],
        [n(3), 'turn.delta'],
        [n(4), 'tool.call'],
        [n(5), 'tool.call'],
        [n(6), 'tool.result'],
        [n(7), 'tool.result'],
        [n(8), 'done'],
      ]);
      expect((await given.read(key)).lastEventId).toBe(n(8));
    });

    test('drops what its holder says is published, and nothing else', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await holder.step(3);
      const outbox = (await given.read(key)).outbox;
      expect(outbox).toHaveLength(3);
      const write = { ...holder.write, publishedId: outbox[1]!.id! };
      const left = await given.store.turns.adoptOutbox(key, { write });
      expect(left).toEqual([outbox[2]]);
      expect((await given.read(key)).outbox).toEqual([outbox[2]]);
    });

    test('keeps the event of one cancelled behind the holder without an id, until its next write gives it one', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      const { turn } = await given.accept(key);
      await given.store.sessions.cancelTurn(key, { turnId: turn.id }, null);
      const waiting = (await given.read(key)).outbox.at(-1);
      expect(waiting).toMatchObject({ id: null, event: { type: 'cancelled', turnId: turn.id } });
      const { outbox } = await holder.step(1);
      expect(outbox.map(({ event }) => event.type)).toEqual(['cancelled', 'tool.call']);
      expect(holder.tail.terminalEvents(turn.id)).toEqual(['cancelled']);
    });

    test('survives the holder: the next one publishes it first, under the ids that it has', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      await given.store.turns.recordStep(key, {
        write: holder.write,
        turnId: holder.turn.id,
        step: 1,
        message: { id: 'msg_a', content: '' },
        calls: [{ id: 'call_a', name: 'a', arguments: {}, invalid: null }],
        usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      }); // stored, and the holder dies before it could publish
      const second = await given.accept(key);
      await given.store.sessions.cancelTurn(key, { turnId: second.turn.id }, null);
      await given.leasesRunOut();
      const next = given.holder(key);
      const claim = await next.claim(LEASE_MS);
      expect(claim?.outbox.map(({ id, event }) => [id, event.type])).toEqual([
        [eventId(1, 2), 'tool.call'],
        [eventId(2, 1), 'cancelled'],
        [eventId(2, 2), 'turn.reset'],
        [eventId(2, 3), 'turn.started'],
      ]);
      expect(next.tail.entries.map(({ id }) => id)).toEqual([eventId(1, 1), ...claim!.outbox.map(({ id }) => id)]);
    });

    test('of a suspend that found a cancel keeps the ids that it gave', async () => {
      const key = await given.session();
      await given.accept(key);
      const holder = await given.running(key);
      const behind = await given.accept(key);
      await given.store.sessions.cancelTurn(key, { turnId: behind.turn.id }, null);
      await given.store.sessions.cancelTurn(key, { turnId: null }, null);
      const suspended = await holder.suspend({ reason: 'idle' });
      expect(suspended.cancel).not.toBeNull();
      expect((await given.read(key)).outbox).toEqual(suspended.outbox);
      await holder.finish({ status: 'CANCELLED' });
      expect(holder.tail.terminalEvents(behind.turn.id)).toEqual(['cancelled']);
    });
  });
}
