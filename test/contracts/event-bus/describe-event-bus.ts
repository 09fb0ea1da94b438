import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { eventId, type NumberedEvent, type SessionEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../stack/eventually.ts';
import { Collector, readAll } from './collector.ts';
import { SessionScript, scriptSteps } from './session-script.ts';

/** A bus of its own for one test. */
export interface BusHarness {
  readonly bus: EventBus;
  /** Another process's view of the bus; the bus itself where there is no second process. */
  readonly peer: EventBus;
  /** The process dies without a word: answers the bus as the next process opens it. */
  crash(): Promise<EventBus>;
  /** Closes what is open and removes the data. */
  close(): Promise<void>;
}

/** In what a bus is not like the others. Its own suite shows what it does instead. */
export interface BusDeviations {
  /** The bus drops what is old by itself, by the time at which it came: `prune` has nothing to do. */
  readonly dropsOldByItself?: boolean;
}

const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

let sessions = 0;

/** A session of its own: where the bus is a server's, other tests' events stay there. */
function newKey(tenantId = 'acme'): SessionKey {
  sessions += 1;
  return { tenantId, sessionId: `ses_${process.pid}_${sessions}` };
}

function delta(token: number, n: number, ts = START): NumberedEvent {
  return {
    type: 'turn.delta',
    turnId: `turn_${token}`,
    data: { step: 1, text: `${token}.${n} ` },
    ts,
    id: eventId(token, n),
  };
}

/** The events `from` to `to` of a token. */
function deltas(token: number, from: number, to: number, ts = START): NumberedEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => delta(token, from + index, ts));
}

function idsOf(events: readonly { readonly id: number }[]): number[] {
  return events.map(({ id }) => id);
}

/** The events as the log has them: each with the id before it. */
function chained(events: readonly NumberedEvent[], prev = 0): SessionEvent[] {
  return events.map((event, index) => ({ ...event, prev: events[index - 1]?.id ?? prev }));
}

/** What every event bus has to do. */
export function describeEventBus(
  name: string,
  make: () => Promise<BusHarness>,
  { dropsOldByItself = false }: BusDeviations = {},
): void {
  describe(`the ${name} event bus`, () => {
    let harness: BusHarness;
    let bus: EventBus;
    let peer: EventBus;

    beforeEach(async () => {
      harness = await make();
      bus = harness.bus;
      peer = harness.peer;
    });
    afterEach(() => harness.close());

    async function subscribe(key: SessionKey, to: EventBus = peer): Promise<Collector> {
      const collector = new Collector();
      await to.subscribe(key, collector);
      return collector;
    }

    /** Some events of one holder at a time, logged by some flushes. */
    async function writeUnevenly(key: SessionKey, total: number): Promise<void> {
      const writer = await bus.openWriter(key, 1);
      for (let n = 1; n <= total; n += 17) {
        writer.append(deltas(1, n, Math.min(n + 16, total)));
        if (n % 5 === 0) await writer.flush();
      }
      await writer.flush();
    }

    describe('writing', () => {
      test('brings events to subscribers and into the log, in order, each with the id before it', async () => {
        const key = newKey();
        const seen = await subscribe(key);
        const writer = await bus.openWriter(key, 1);
        expect(writer.confirmedId).toBe(0);
        writer.append(deltas(1, 1, 3));
        writer.append([delta(1, 4)]);
        await writer.flush();
        expect(writer.confirmedId).toBe(eventId(1, 4));
        const expected = chained(deltas(1, 1, 4));
        await eventually(() => expect(seen.events).toEqual(expected));
        expect(await readAll(peer, key)).toEqual(expected);
      });

      test('keeps every kind of event as it was', async () => {
        const key = newKey();
        const [turnId, ts] = ['turn_1', START + 5];
        const text = 'line\n\u2028 "quoted" \\ \0 你好🦀';
        const drafts: NumberedEvent[] = [
          { type: 'turn.started', turnId, ts, id: eventId(1, 1), data: { attempt: 1 } },
          { type: 'reasoning.delta', turnId, ts, id: eventId(1, 2), data: { step: 1, text } },
          {
            type: 'tool.call',
            turnId,
            ts: ts - 3, // an event of the outbox may be older than those before it
            id: eventId(1, 3),
            data: {
              step: 1,
              toolCallId: 'call_1',
              name: 'lookup',
              arguments: { city: '杭州', nested: [1, null, { a: true }] },
            },
          },
          {
            type: 'tool.result',
            turnId,
            ts: ts + 9,
            id: eventId(1, 4),
            data: {
              toolCallId: 'call_1',
              name: 'lookup',
              ok: false,
              result: 'x'.repeat(50_000),
              durationMs: 12,
              truncated: true,
            },
          },
          {
            type: 'done',
            turnId,
            ts,
            id: eventId(1, 5),
            data: { message: null, usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } },
          },
          { type: 'cancelled', turnId: 'turn_2', ts, id: eventId(1, 7), data: { reason: 'requested' } },
        ];
        const writer = await bus.openWriter(key, 1);
        writer.append(drafts);
        await writer.flush();
        expect(await readAll(peer, key)).toEqual(chained(drafts));
      });

      test('goes on where the log ends, for the next holder', async () => {
        const key = newKey();
        const first = await bus.openWriter(key, 1);
        first.append(deltas(1, 1, 3));
        await first.flush();
        first.close();
        const second = await peer.openWriter(key, 2);
        expect(second.confirmedId).toBe(eventId(1, 3));
        second.append([delta(2, 1)]);
        await second.flush();
        expect(await readAll(bus, key)).toEqual(chained([...deltas(1, 1, 3), delta(2, 1)]));
      });

      test('lets the same holder open again', async () => {
        const key = newKey();
        const first = await bus.openWriter(key, 3);
        first.append([delta(3, 1)]);
        await first.flush();
        first.close();
        const again = await bus.openWriter(key, 3);
        again.append([delta(3, 2)]);
        await again.flush();
        expect(await readAll(peer, key)).toEqual(chained(deltas(3, 1, 2)));
      });

      test('skips what the log has already', async () => {
        const key = newKey();
        const seen = await subscribe(key);
        const first = await bus.openWriter(key, 1);
        first.append(deltas(1, 1, 3));
        await first.flush();
        first.append(deltas(1, 2, 4));
        await first.flush();
        const second = await bus.openWriter(key, 2);
        second.append([delta(1, 4), delta(2, 1)]); // the outbox of a holder that died after it had published
        await second.flush();
        const expected = chained([...deltas(1, 1, 4), delta(2, 1)]);
        expect(await readAll(peer, key)).toEqual(expected);
        await eventually(() => expect(seen.events).toEqual(expected));
      });

      test('publishes an older holder’s outbox before the new holder’s own events', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 2);
        writer.append([delta(1, 7), delta(2, 1)]);
        await writer.flush();
        expect(await readAll(peer, key)).toEqual(chained([delta(1, 7), delta(2, 1)]));
      });

      test('flushes at once when there is nothing to write', async () => {
        const writer = await bus.openWriter(newKey(), 1);
        await writer.flush();
        expect(writer.confirmedId).toBe(0);
      });
    });

    describe('fencing', () => {
      test('refuses a writer whose token is older than one that wrote', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 5);
        writer.append([delta(5, 1)]);
        await writer.flush();
        writer.close();
        await expect(peer.openWriter(key, 4)).rejects.toMatchObject({ code: 'lease_lost' });
      });

      test('shows and logs nothing of an older holder after a newer one’s first event', async () => {
        const key = newKey();
        const seen = await subscribe(key);
        const older = await bus.openWriter(key, 1);
        older.append([delta(1, 1)]);
        await older.flush();
        const newer = await peer.openWriter(key, 2);
        newer.append([delta(2, 1)]);
        await newer.flush();
        older.append([delta(1, 2)]);
        await expect(older.flush()).rejects.toMatchObject({ code: 'lease_lost' });
        older.append([delta(1, 3)]);
        await expect(older.flush()).rejects.toMatchObject({ code: 'lease_lost' });
        older.close();
        newer.append([delta(2, 2)]);
        await newer.flush();
        const expected = chained([delta(1, 1), delta(2, 1), delta(2, 2)]);
        expect(await readAll(bus, key)).toEqual(expected);
        await eventually(() => expect(seen.events).toEqual(expected));
      });

      test('still refuses it after a crash', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 9);
        writer.append([delta(9, 1)]);
        await writer.flush();
        const next = await harness.crash();
        await expect(next.openWriter(key, 8)).rejects.toMatchObject({ code: 'lease_lost' });
        const newer = await next.openWriter(key, 10);
        newer.append([delta(10, 1)]);
        await newer.flush();
        expect(await readAll(next, key)).toEqual(chained([delta(9, 1), delta(10, 1)]));
      });
    });

    describe('reading', () => {
      test('replays from any cursor, in pages, to the end', async () => {
        const key = newKey();
        const total = 1_700;
        await writeUnevenly(key, total);
        const all = chained(deltas(1, 1, total));
        expect(await readAll(peer, key, -1)).toEqual(all);
        for (const after of [1, 16, 17, 500, 501, total - 1]) {
          expect(await readAll(peer, key, eventId(1, after))).toEqual(all.slice(after));
        }
        expect(await readAll(peer, key, eventId(1, total))).toEqual([]);
        expect(await readAll(peer, key, eventId(2, 1))).toEqual([]);
        for await (const page of peer.replay(key, 0)) expect(page.length).toBeLessThan(total);
      });

      test('a reader that stops in the middle disturbs nobody', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 1_200));
        await writer.flush();
        for await (const page of peer.replay(key, 0)) {
          expect(page[0]?.id).toBe(eventId(1, 1));
          break;
        }
        writer.append([delta(1, 1_201)]);
        await writer.flush();
        expect(idsOf(await readAll(peer, key, eventId(1, 1_199)))).toEqual([eventId(1, 1_200), eventId(1, 1_201)]);
      });

      test('a slow reader holds up neither the writer nor the other readers', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 1_000));
        await writer.flush();
        const slow = peer.replay(key, 0)[Symbol.asyncIterator]();
        const first = await slow.next();
        const live = await subscribe(key);
        writer.append(deltas(1, 1_001, 2_500));
        await writer.flush();
        await eventually(() => expect(live.events).toHaveLength(1_500));
        const rest = [...(first.done === true ? [] : first.value)];
        for (let page = await slow.next(); page.done !== true; page = await slow.next()) rest.push(...page.value);
        expect(rest.slice(0, 1_000)).toEqual(chained(deltas(1, 1, 1_000)));
        expect(idsOf(rest)).toEqual(idsOf(deltas(1, 1, rest.length)));
      });

      test('tells every subscriber, each once, until it leaves', async () => {
        const key = newKey();
        const [stays, leaves] = [new Collector(), new Collector()];
        await peer.subscribe(key, stays);
        const subscription = await bus.subscribe(key, leaves);
        const writer = await bus.openWriter(key, 1);
        writer.append([delta(1, 1)]);
        await writer.flush();
        await eventually(() => expect([stays.ids, leaves.ids]).toEqual([[eventId(1, 1)], [eventId(1, 1)]]));
        subscription.close();
        subscription.close();
        writer.append([delta(1, 2)]);
        await writer.flush();
        await eventually(() => expect(stays.ids).toEqual([eventId(1, 1), eventId(1, 2)]));
        expect(leaves.ids).toEqual([eventId(1, 1)]);
      });

      test('a subscriber that throws disturbs no other', async () => {
        const key = newKey();
        const broken = () => {
          throw new Error('a broken subscriber');
        };
        await peer.subscribe(key, { onEvents: broken, onAnnouncement: broken });
        const seen = await subscribe(key);
        const writer = await bus.openWriter(key, 1);
        writer.append([delta(1, 1)]);
        writer.append([delta(1, 2)]);
        await writer.flush();
        await eventually(() => expect(seen.ids).toEqual(idsOf(deltas(1, 1, 2))));
      });

      test('a subscriber gets no event twice and none is missing between, however long it stays', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 10));
        const seen = await subscribe(key);
        for (let n = 11; n <= 400; n += 1) {
          writer.append([delta(1, n)]);
          if (n % 50 === 0) await writer.flush();
        }
        await writer.flush();
        await eventually(() => expect(seen.ids.at(-1)).toBe(eventId(1, 400)));
        const [first] = seen.ids;
        expect(first).toBeLessThanOrEqual(eventId(1, 11));
        expect(seen.ids).toEqual(idsOf(deltas(1, 1, 400)).filter((id) => id >= first!));
      });

      test('whoever subscribes first, replays from any cursor and merges by id gets every later event once', async () => {
        await fc.assert(
          fc.asyncProperty(scriptSteps, async (steps) => {
            const key = newKey();
            const script = new SessionScript(bus, peer, key);
            await script.play(steps);
            const all = chained(script.written);
            for (const { cursor, reader } of script.readers) {
              await eventually(() => expect(reader.events).toEqual(all.filter(({ id }) => id > cursor)));
              reader.stop();
            }
            expect(await readAll(peer, key)).toEqual(all);
          }),
          { numRuns: 60 },
        );
      }, 60_000);
    });

    describe('announcements and nudges', () => {
      test('tells current subscribers what is not logged', async () => {
        const key = newKey();
        const seen = await subscribe(key);
        const elsewhere = await subscribe(newKey());
        const announcement = { type: 'turn.queued', turnId: 'turn_1', data: { position: 2 }, ts: START } as const;
        bus.announce(key, announcement);
        await eventually(() => expect(seen.announcements).toEqual([announcement]));
        const writer = await bus.openWriter(key, 1);
        writer.append([delta(1, 1)]);
        await writer.flush();
        expect(await readAll(peer, key)).toEqual(chained([delta(1, 1)]));
        const late = await subscribe(key);
        await turnOfLoop();
        expect([late.announcements, elsewhere.announcements]).toEqual([[], []]);
      });

      test('nudges whoever listens, until it stops', async () => {
        const key = newKey();
        let [nudges, others] = [0, 0];
        const subscription = bus.onNudge(key, () => {
          nudges += 1;
        });
        bus.onNudge(newKey(), () => {
          others += 1;
        });
        await eventually(() => {
          peer.nudge(key); // best effort: the first ones may come before the listener is known everywhere
          expect(nudges).toBeGreaterThan(0);
        });
        subscription.close();
        await eventually(async () => {
          const before = nudges;
          peer.nudge(key);
          await turnOfLoop();
          expect(nudges).toBe(before);
        });
        expect(others).toBe(0);
      });

      test('may be told to a session that nobody watches', () => {
        bus.nudge(newKey());
        bus.announce(newKey(), { type: 'cancelled', turnId: 'turn_1', data: { reason: 'session_deleted' }, ts: START });
      });
    });

    describe('after a crash', () => {
      test('has what was flushed, and goes on from there', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 5));
        await writer.flush();
        writer.append(deltas(1, 6, 8)); // shown, and perhaps logged
        const next = await harness.crash();
        const found = await readAll(next, key);
        expect(found.slice(0, 5)).toEqual(chained(deltas(1, 1, 5)));
        expect(idsOf(found)).toEqual(idsOf(deltas(1, 1, found.length)));
        const seen = await subscribe(key, next);
        const successor = await next.openWriter(key, 2);
        const tail = found.at(-1)!.id;
        expect(successor.confirmedId).toBe(tail);
        successor.append([delta(2, 1)]);
        await successor.flush();
        await eventually(() => expect(seen.events).toEqual([{ ...delta(2, 1), prev: tail }]));
        expect(await readAll(next, key, eventId(1, 8))).toEqual(seen.events);
      });
    });

    describe('removing', () => {
      test('deletes one session’s log', async () => {
        const [gone, kept] = [newKey(), newKey()];
        for (const key of [gone, kept]) {
          const writer = await bus.openWriter(key, 1);
          writer.append(deltas(1, 1, 3));
          await writer.flush();
          writer.close();
        }
        await peer.delete(gone);
        expect(await readAll(bus, gone)).toEqual([]);
        expect(await readAll(bus, kept)).toEqual(chained(deltas(1, 1, 3)));
        await peer.delete(newKey());
      });

      if (dropsOldByItself) return;

      test('prunes what is old; `prev` then shows the gap', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 5, START));
        writer.append(deltas(1, 6, 10, START + HOUR));
        await writer.flush();
        let pruned = 0;
        for (let count = -1; count !== 0; pruned += count) {
          count = await peer.prune(START + HOUR / 2, 2);
          expect(count).toBeLessThanOrEqual(2);
        }
        expect(pruned).toBe(5);
        const left = await readAll(bus, key, eventId(1, 2));
        expect(left).toEqual(chained(deltas(1, 1, 10, START + HOUR)).slice(5));
        expect(left[0]?.prev).toBeGreaterThan(eventId(1, 2));
        writer.append([delta(1, 11)]);
        await writer.flush();
        expect((await readAll(bus, key)).at(-1)?.prev).toBe(eventId(1, 10));
      });

      test('goes on after everything was pruned', async () => {
        const key = newKey();
        const writer = await bus.openWriter(key, 1);
        writer.append(deltas(1, 1, 5));
        await writer.flush();
        writer.close();
        await bus.prune(START + HOUR, 1_000);
        expect(await readAll(peer, key)).toEqual([]);
        const next = await bus.openWriter(key, 2);
        next.append([delta(2, 1)]);
        await next.flush();
        expect(idsOf(await readAll(peer, key))).toEqual([eventId(2, 1)]);
      });
    });

    test('keeps tenants apart', async () => {
      const own = newKey('acme');
      const foreign = { ...own, tenantId: 'evil' };
      const seen = await subscribe(foreign);
      let nudged = false;
      bus.onNudge(foreign, () => {
        nudged = true;
      });
      const writer = await bus.openWriter(own, 7);
      writer.append([delta(7, 1)]);
      await writer.flush();
      bus.announce(own, { type: 'turn.queued', turnId: 'turn_1', data: { position: 1 }, ts: START });
      bus.nudge(own);
      expect(await readAll(peer, foreign)).toEqual([]);
      await peer.delete(foreign);
      expect(idsOf(await readAll(peer, own))).toEqual([eventId(7, 1)]);
      const theirs = await bus.openWriter(foreign, 1);
      theirs.append([delta(1, 1)]);
      await theirs.flush();
      await eventually(() => expect(seen.events).toEqual(chained([delta(1, 1)])));
      expect([seen.announcements, nudged]).toEqual([[], false]);
    });

    test('answers a ping, and nothing more once it is closed', async () => {
      const key = newKey();
      const writer = await bus.openWriter(key, 1);
      writer.append([delta(1, 1)]);
      await bus.ping();
      await bus.close();
      const closed = { code: 'unavailable' };
      await expect(bus.ping()).rejects.toMatchObject(closed);
      await expect(bus.openWriter(key, 2)).rejects.toMatchObject(closed);
      await expect(bus.subscribe(key, new Collector())).rejects.toMatchObject(closed);
      await expect(readAll(bus, key)).rejects.toMatchObject(closed);
      writer.append([delta(1, 2)]);
      await expect(writer.flush()).rejects.toMatchObject(closed);
    });
  });
}
