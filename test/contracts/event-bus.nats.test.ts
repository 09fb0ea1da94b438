import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import type { SubscriptionOptions } from '@nats-io/transport-node';
import { createNatsBus } from '@turnwire/shared/adapters/nats/event-bus';
import { LargeEvents } from '@turnwire/shared/adapters/nats/large-events';
import { openLink } from '@turnwire/shared/adapters/nats/link';
import { Publisher } from '@turnwire/shared/adapters/nats/publisher';
import { SessionFeeds } from '@turnwire/shared/adapters/nats/session-feeds';
import { StreamReader } from '@turnwire/shared/adapters/nats/stream-reader';
import { eventId, type NumberedEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createRecordingLogger, type RecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findNats, withJetStream } from '../stack/backends/nats.ts';
import { CutProxy } from '../stack/cut-proxy.ts';
import { eventually } from '../stack/eventually.ts';
import { freePort } from '../stack/server-process.ts';
import { Collector, readAll } from './event-bus/collector.ts';
import { type BusHarness, describeEventBus } from './event-bus/describe-event-bus.ts';
import { expectStreamsToSurvive, persist } from './event-bus/streaming.ts';

const HOUR = 3_600_000;

const backend = await findNats('The event bus on NATS');
afterAll(() => backend?.close());

interface NatsHarness extends BusHarness {
  readonly prefix: string;
  /** Between the server and `bus`; `peer` has its own. */
  readonly proxy: CutProxy;
  readonly peerProxy: CutProxy;
  readonly log: RecordingLogger;
  /** A further process, which reaches the server directly. */
  open(): Promise<EventBus>;
}

/** Two processes on one stream, each behind a proxy. */
async function makeNatsBus(url: string, prefix: string, retentionMs = HOUR): Promise<NatsHarness> {
  const log = createRecordingLogger();
  const opened: EventBus[] = [];
  async function open(address = url): Promise<EventBus> {
    const bus = await createNatsBus({ url: address, prefix, retentionMs, clock: realClock, log });
    opened.push(bus);
    return bus;
  }
  const [proxy, peerProxy] = [await CutProxy.start(url), await CutProxy.start(url)];
  return {
    prefix,
    proxy,
    peerProxy,
    log,
    bus: await open(proxy.address),
    peer: await open(peerProxy.address),
    open: () => open(),
    async crash() {
      proxy.cut();
      return open();
    },
    async close() {
      for (const bus of opened) await bus.close();
      await Promise.all([proxy.close(), peerProxy.close()]);
      await withJetStream(url, ({ streams }) => streams.delete(prefix)); // it reserves its storage
    },
  };
}

const key: SessionKey = { tenantId: 'acme', sessionId: 'ses_1' };

function delta(n: number, token = 1, text = `${n} `): NumberedEvent {
  return { type: 'turn.delta', turnId: 'turn_1', data: { step: 1, text }, ts: 1_000 + n, id: eventId(token, n) };
}

function deltas(from: number, to: number, token = 1): NumberedEvent[] {
  return Array.from({ length: to - from + 1 }, (_, n) => delta(from + n, token));
}

describe.skipIf(backend === null)('on NATS', () => {
  // Without a server the tests are still named, and counted as skipped.
  const url = backend?.url ?? '';
  const server = backend?.server ?? null;
  const newPrefix = () => backend?.newPrefix() ?? '';

  describeEventBus('NATS', () => makeNatsBus(url, newPrefix()), { dropsOldByItself: true });

  let harness: NatsHarness;
  let bus: EventBus;
  let peer: EventBus;

  async function setUp(retentionMs = HOUR): Promise<void> {
    harness = await makeNatsBus(url, newPrefix(), retentionMs);
    bus = harness.bus;
    peer = harness.peer;
  }

  /** How many messages of a session the stream has. */
  async function countMessages(kind: 'log' | 'large'): Promise<number> {
    const { state } = await withJetStream(url, ({ streams }) =>
      streams.info(harness.prefix, { subjects_filter: `${harness.prefix}.${kind}.>` }),
    );
    return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
  }

  describe('while the network fails', () => {
    beforeEach(() => setUp());
    afterEach(() => harness.close());

    test('nothing is missing, twice or out of order when both sides are cut off again and again', async () => {
      await expectStreamsToSurvive({ worker: bus, gateway: peer, count: 20 }, async () => {
        for (let round = 0; round < 4; round += 1) {
          harness.proxy.cut();
          await sleep(150);
          harness.proxy.mend();
          harness.peerProxy.cut();
          await sleep(round * 150);
          harness.peerProxy.mend();
          await sleep(300);
        }
      });
    });

    test('a connection that is dead but not closed is given up, on either side', async () => {
      await expectStreamsToSurvive({ worker: bus, gateway: peer, count: 20 }, async () => {
        harness.proxy.halfOpen();
        harness.peerProxy.halfOpen();
        await sleep(7_000);
      });
    }, 90_000);

    test('a gateway that does not read stalls no other', async () => {
      const [stalled, other] = [new Collector(), new Collector()];
      const writer = await bus.openWriter(key, 1);
      await peer.subscribe(key, stalled);
      await (await harness.open()).subscribe(key, other);
      harness.peerProxy.halfOpen();
      for (let n = 1; n <= 50; n += 1) {
        writer.append([delta(n)]);
        await writer.flush();
      }
      await eventually(() => expect(other.ids).toEqual(deltas(1, 50).map(({ id }) => id)), 500);
      expect(stalled.ids).toEqual([]);
      await eventually(() => expect(stalled.ids).toEqual(other.ids), 10_000);
    });

    test('the last event is told although it came while the gateway was cut off', async () => {
      const seen = new Collector();
      await peer.subscribe(key, seen);
      const writer = await bus.openWriter(key, 1);
      writer.append([delta(1)]);
      await writer.flush();
      await eventually(() => expect(seen.ids).toHaveLength(1));
      harness.peerProxy.cut();
      writer.append([delta(2)]);
      await writer.flush();
      harness.peerProxy.mend();
      await eventually(() => expect(seen.ids).toEqual([delta(1).id, delta(2).id]), 2_000);
    });

    test('a server far away gets few large messages instead of many small ones', async () => {
      const seen = new Collector();
      await peer.subscribe(key, seen);
      const writer = await bus.openWriter(key, 1);
      harness.proxy.delay(50);
      for (let n = 1; n <= 600; n += 1) {
        writer.append([delta(n)]);
        if (n % 10 === 0) await sleep(1);
      }
      await writer.flush();
      await eventually(() => expect(seen.ids).toEqual(deltas(1, 600).map(({ id }) => id)));
      expect(await countMessages('log')).toBeLessThan(8);
    });

    test('flush waits for as long as the log gets further', async () => {
      const writer = await bus.openWriter(key, 1);
      harness.proxy.delay(100);
      const begun = performance.now();
      writer.append(deltas(1, 256 * 14));
      await writer.flush();
      expect(performance.now() - begun).toBeGreaterThan(2_300);
      expect(writer.confirmedId).toBe(delta(256 * 14).id);
    });

    test('whatever needs the server says at once that it is away; flush waits a while, and goes on later', async () => {
      const writer = await bus.openWriter(key, 1);
      harness.proxy.cut();
      await eventually(() => expect(bus.ping()).rejects.toMatchObject({ code: 'unavailable', retry: true }));
      const begun = performance.now();
      for (const attempt of [
        () => bus.ping(),
        () => bus.openWriter(key, 1),
        () => bus.subscribe(key, new Collector()),
        () => readAll(bus, key),
        () => bus.delete(key),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'unavailable' });
      }
      bus.nudge(key);
      expect(performance.now() - begun).toBeLessThan(1_000);
      writer.append(deltas(1, 3));
      await expect(writer.flush()).rejects.toMatchObject({ code: 'unavailable', retry: true });
      expect(performance.now() - begun).toBeLessThan(6_000);
      writer.append([delta(4)]);
      harness.proxy.mend();
      await persist(() => writer.flush());
      expect(writer.confirmedId).toBe(delta(4).id);
      expect((await readAll(peer, key)).map(({ id }) => id)).toEqual(deltas(1, 4).map(({ id }) => id));
    });

    test('what is lost on the way to a gateway without a word is read from the stream, the last one too', async () => {
      const { log, prefix } = harness;
      const clock = createManualClock(0);
      const link = await openLink(url, realClock, log);
      const jsm = await jetstreamManager(link.connection, { checkAPI: false });
      const reader = new StreamReader({ stream: prefix, link, jsm, clock: realClock, log });
      const largeEvents = new LargeEvents(new Publisher(link, realClock), reader);
      let count = 0;
      const lossy = {
        subscribe: (subject: string, { callback }: SubscriptionOptions = {}) =>
          link.connection.subscribe(subject, {
            callback: (error, message) => {
              count += 1;
              // Runs of every length get lost, also longer ones than are got one by one.
              if (count % 50 > 30 || count % 7 === 3 || count >= 490) return;
              void callback?.(error, message);
            },
          }),
      };
      const feeds = new SessionFeeds(prefix, {
        link: { connection: lossy, isUp: true, closed: false },
        reader,
        largeEvents,
        clock,
        log,
      });
      const seen = new Collector();
      const subscription = await feeds.subscribe(key, seen);
      const writer = await bus.openWriter(key, 1);
      for (const event of deltas(1, 500)) {
        writer.append([event]);
        await writer.flush();
      }
      await eventually(() => expect(count).toBe(500));
      const all = deltas(1, 500).map(({ id }) => id);
      await eventually(() => expect(seen.ids.length).toBeGreaterThan(450));
      expect(seen.ids).toEqual(all.slice(0, seen.ids.length));
      expect(seen.ids.length).toBeLessThan(490);
      await clock.advance(15_000); // it was not silent in these
      await clock.advance(15_000);
      await eventually(() => expect(seen.ids).toEqual(all));
      subscription.close();
      expect(feeds.size).toBe(0);
      feeds.close();
      await link.close();
    });

    test('1,000 sessions are told what they missed', async () => {
      const sessions = Array.from({ length: 1_000 }, (_, n) => ({ ...key, sessionId: `ses_${n}` }));
      const seen = sessions.map(() => new Collector());
      await Promise.all(sessions.map((session, n) => peer.subscribe(session, seen[n]!)));
      const writers = await Promise.all(sessions.map((session) => bus.openWriter(session, 1)));
      const writeAll = (n: number) =>
        Promise.all(
          writers.map((writer) => {
            writer.append([delta(n)]);
            return writer.flush();
          }),
        );
      await writeAll(1);
      await eventually(() => expect(seen.every(({ ids }) => ids.length === 1)).toBe(true));
      harness.peerProxy.cut();
      await writeAll(2);
      harness.peerProxy.mend();
      const expected = deltas(1, 2).map(({ id }) => id);
      await eventually(() => expect(seen.every(({ ids }) => ids.length === 2)).toBe(true));
      expect(seen.every(({ ids }) => ids[0] === expected[0] && ids[1] === expected[1])).toBe(true);
    });
  });

  describe.skipIf(backend !== null && server === null)('while the server fails', () => {
    beforeEach(() => setUp());
    afterEach(() => harness.close());

    test('nothing is missing, twice or out of order when it is killed and started again', async () => {
      await expectStreamsToSurvive({ worker: bus, gateway: peer, count: 20 }, async () => {
        for (let round = 0; round < 3; round += 1) {
          await server?.kill();
          await sleep(round * 200);
          await server?.start();
          await sleep(700);
        }
      });
    }, 90_000);

    test('nothing is missing, twice or out of order when it stands still for five seconds', async () => {
      await expectStreamsToSurvive({ worker: bus, gateway: peer, count: 20 }, async () => {
        server?.signal('SIGSTOP');
        try {
          await sleep(50); // its threads do not stand still all at once
          const begun = performance.now();
          await expect(bus.ping()).rejects.toMatchObject({ code: 'unavailable' });
          expect(performance.now() - begun).toBeLessThan(3_000);
          await sleep(5_000 - (performance.now() - begun));
        } finally {
          server?.signal('SIGCONT');
        }
      });
    }, 90_000);

    test('a server that has lost everything gets a new stream, and all go on', async () => {
      const seen = new Collector();
      await peer.subscribe(key, seen);
      const writer = await bus.openWriter(key, 1);
      writer.append(deltas(1, 5));
      await writer.flush();
      await eventually(() => expect(seen.ids).toHaveLength(5));
      harness.peerProxy.cut();
      await server?.kill();
      server?.wipe();
      await server?.start();
      for (const event of deltas(6, 8)) {
        writer.append([event]);
        await persist(() => writer.flush());
      }
      harness.peerProxy.mend();
      await eventually(() => expect(seen.ids).toEqual(deltas(1, 8).map(({ id }) => id)));
      const logged = await readAll(peer, key);
      expect(logged.map(({ id, prev }) => [id, prev])).toEqual(deltas(6, 8).map(({ id }) => [id, id - 1]));
    });
  });

  describe('fencing', () => {
    beforeEach(() => setUp());
    afterEach(() => harness.close());

    test('the server refuses a zombie whose events are on their way when a newer holder writes', async () => {
      const seen = new Collector();
      await peer.subscribe(key, seen);
      const zombie = await bus.openWriter(key, 1);
      zombie.append([delta(1)]);
      await zombie.flush();
      harness.proxy.cut();
      zombie.append([delta(2)]);
      const holder = await peer.openWriter(key, 2);
      holder.append([delta(1, 2)]);
      await holder.flush();
      harness.proxy.mend();
      await expect(persist(() => zombie.flush())).rejects.toMatchObject({ code: 'lease_lost' });
      zombie.append([delta(3)]);
      await expect(zombie.flush()).rejects.toMatchObject({ code: 'lease_lost' });
      holder.append([delta(2, 2)]);
      await holder.flush();
      const expected = [delta(1).id, delta(1, 2).id, delta(2, 2).id];
      await eventually(() => expect(seen.ids).toEqual(expected));
      expect((await readAll(peer, key)).map(({ id }) => id)).toEqual(expected);
    });

    test('an older holder that was faster is followed, not refused', async () => {
      const older = await bus.openWriter(key, 1);
      const newer = await peer.openWriter(key, 2);
      older.append([delta(1)]);
      await older.flush();
      newer.append([delta(1, 2)]);
      await newer.flush();
      expect((await readAll(peer, key)).map(({ id, prev }) => [id, prev])).toEqual([
        [delta(1).id, 0],
        [delta(1, 2).id, delta(1).id],
      ]);
    });

    test('events of one holder that came in two ways are logged once', async () => {
      const first = await bus.openWriter(key, 1);
      const second = await peer.openWriter(key, 1);
      first.append(deltas(1, 3));
      await first.flush();
      second.append(deltas(1, 5));
      await second.flush();
      expect(second.confirmedId).toBe(delta(5).id);
      first.append(deltas(1, 7));
      await first.flush();
      for (const event of deltas(6, 8)) {
        second.append([event]);
        await second.flush();
      }
      const logged = await readAll(peer, key);
      expect(logged.map(({ id, prev }) => [id, prev])).toEqual(
        deltas(1, 8).map(({ id }, n) => [id, n === 0 ? 0 : delta(n).id]),
      );
    });

    test('nobody writes to a session that was deleted', async () => {
      const writer = await bus.openWriter(key, 1);
      writer.append([delta(1), delta(2, 1, 'x'.repeat(600_000))]);
      await writer.flush();
      await peer.delete(key);
      writer.append([delta(3)]);
      await expect(writer.flush()).rejects.toMatchObject({ code: 'lease_lost' });
      await expect(bus.openWriter(key, 9)).rejects.toMatchObject({ code: 'lease_lost' });
      await peer.delete(key);
      expect(await readAll(bus, key)).toEqual([]);
      expect([await countMessages('log'), await countMessages('large')]).toEqual([1, 0]);
    });
  });

  describe('the log', () => {
    afterEach(() => harness.close());

    test('takes an event of 5 MB in the middle of others', async () => {
      await setUp();
      const seen = new Collector();
      await peer.subscribe(key, seen);
      const large = delta(3, 1, '你好🦀'.repeat(500_000));
      const events = [...deltas(1, 2), large, ...deltas(4, 6)];
      const writer = await bus.openWriter(key, 1);
      for (const event of events) writer.append([event]);
      await persist(() => writer.flush());
      const expected = events.map((event, n) => ({ ...event, prev: events[n - 1]?.id ?? 0 }));
      await eventually(() => expect(seen.ids).toHaveLength(6));
      expect(seen.events).toEqual(expected);
      expect(await readAll(peer, key)).toEqual(expected);
      expect(await readAll(peer, key, delta(2).id)).toEqual(expected.slice(2));
      expect(await countMessages('large')).toBe(Math.ceil(5_000_000 / (512 * 1024)));
    });

    test('says so when it does not reach back any more, and goes on', async () => {
      const retentionMs = 1_000;
      await setUp(retentionMs);
      const writer = await bus.openWriter(key, 1);
      writer.append([...deltas(1, 4), delta(5, 1, 'x'.repeat(600_000))]);
      await writer.flush();
      await sleep(retentionMs / 2);
      writer.append(deltas(6, 8));
      await writer.flush();
      const left = await eventually(async () => {
        const events = await readAll(peer, key, delta(2).id);
        expect(events).toHaveLength(3);
        return events;
      });
      expect(left[0]).toEqual({ ...delta(6), prev: delta(5).id });
      expect(await peer.prune(Date.now(), 100)).toBe(0);
      await eventually(async () => expect(await readAll(peer, key)).toEqual([]));
      writer.append([delta(9)]);
      await writer.flush();
      expect(await readAll(peer, key)).toEqual([{ ...delta(9), prev: delta(8).id }]);
    });

    test('finds any place in a long session without reading it', async () => {
      await setUp();
      const total = 3_000;
      const writer = await bus.openWriter(key, 1);
      const other = await bus.openWriter({ ...key, sessionId: 'ses_2' }, 1);
      for (let n = 1; n <= total; n += 1) {
        writer.append([delta(n)]);
        other.append([delta(n)]);
        if (n % 2 === 0) await Promise.all([writer.flush(), other.flush()]);
      }
      for (const after of [1, 700, 1_501, 2_998, 2_999]) {
        const events = await readAll(peer, key, delta(after).id);
        expect(events.map(({ id }) => id)).toEqual(deltas(after + 1, total).map(({ id }) => id));
      }
      await withJetStream(url, async ({ consumers }) => {
        await eventually(async () => expect(await consumers.list(harness.prefix).next()).toEqual([])); // none is left over
      });
    });

    test('is read by many at once without more on its way than the server allows a connection', async () => {
      await setUp();
      const writer = await bus.openWriter(key, 1);
      const text = 'x'.repeat(400_000);
      const events = deltas(1, 60).map((event, n) => delta(n + 1, 1, `${event.id} ${text}`));
      writer.append(events);
      await persist(() => writer.flush());
      const counts = await Promise.all(
        Array.from({ length: 5 }, async () => {
          let count = 0;
          for await (const page of peer.replay(key, 0)) count += page.length;
          return count;
        }),
      );
      expect(counts).toEqual(Array(5).fill(60));
      expect(harness.log.lines.filter(({ level }) => level !== 'info')).toEqual([]);
    });

    test('keeps what the operator has set, and takes the retention from its own configuration', async () => {
      await setUp(2 * HOUR);
      await withJetStream(url, ({ streams }) => streams.update(harness.prefix, { max_bytes: 128 * 1024 ** 2 }));
      const config = { url, prefix: harness.prefix, retentionMs: HOUR, clock: realClock, log: harness.log };
      await (await createNatsBus(config)).close();
      const info = await withJetStream(url, ({ streams }) => streams.info(harness.prefix));
      expect(info.config).toMatchObject({ max_bytes: 128 * 1024 ** 2, max_age: HOUR * 1e6, storage: 'file' });
    });
  });

  describe('opening', () => {
    const log = createRecordingLogger();

    test('throws when no server answers', async () => {
      const away = `nats://127.0.0.1:${await freePort()}`;
      const begun = performance.now();
      const opening = createNatsBus({ url: away, retentionMs: HOUR, clock: realClock, log });
      await expect(opening).rejects.toMatchObject({ code: 'unavailable', retry: true });
      expect(performance.now() - begun).toBeLessThan(3_000);
    });

    test('refuses a stream that is not its own', async () => {
      const prefix = newPrefix();
      await withJetStream(url, ({ streams }) => streams.add({ name: prefix, subjects: [`${prefix}.log.*.*`] }));
      const opening = createNatsBus({ url, prefix, retentionMs: HOUR, clock: realClock, log });
      await expect(opening).rejects.toThrow(/not made by Turnwire/);
      await withJetStream(url, ({ streams }) => streams.delete(prefix));
    });
  });
});
