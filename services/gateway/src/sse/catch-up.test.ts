import { PassThrough } from 'node:stream';
import type { SessionEvent } from '@turnwire/shared/domain/event';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catchUp } from './catch-up.ts';
import { ClientStream, type StreamView } from './client-stream.ts';
import { type HubHost, SessionHub } from './session-hub.ts';

const KEY = { tenantId: 't', sessionId: 's' };

function eventOf(id: number, size = 1): SessionEvent {
  return { id, prev: id - 1, turnId: 'turn', ts: 1, type: 'turn.delta', data: { step: 1, text: 'x'.repeat(size) } };
}

/** A session with a log and a hub, under the test's hand: nothing happens between two steps but what the test does. */
class Bench {
  readonly log: SessionEvent[] = [];
  drops = 0;
  closes = 0;
  emptied = 0;
  readonly hub: SessionHub;

  constructor() {
    const host: HubHost = {
      now: () => 1,
      closed: () => {
        this.closes += 1;
      },
      dropped: () => {
        this.drops += 1;
      },
      emptied: () => {
        this.emptied += 1;
      },
    };
    this.hub = new SessionHub(KEY, host);
  }

  write(count: number, size = 1): void {
    const from = (this.log.at(-1)?.id ?? 0) + 1;
    const events = Array.from({ length: count }, (_, n) => eventOf(from + n, size));
    this.log.push(...events);
    this.hub.onEvents(events);
  }

  /** Between two pages, `meanwhile` happens. */
  async *replay(after: number, meanwhile: () => void) {
    for (let cursor = after; ; ) {
      const page = this.log.filter(({ id }) => id > cursor).slice(0, 3);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      meanwhile();
      cursor = last.id;
    }
  }
}

function open(bench: Bench, view: Partial<StreamView>) {
  const place = bench.hub.join();
  const sink = new PassThrough({ highWaterMark: 1024 });
  const client = new ClientStream(
    sink,
    { turnId: null, endsWithTurn: false, cursor: 0, fresh: false, ...view },
    bench.hub,
  );
  client.start();
  bench.hub.seat(place, client);
  let text = '';
  sink.on('data', (chunk) => {
    text += chunk;
  });
  const ids = () => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  return { place, sink, client, ids, text: () => text };
}

const NOTHING = { tail: null, turnIsOver: false };
const pause = async () => {};
const admission = async () => {};
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('catching up', () => {
  test('neither loses nor repeats an event, whatever comes meanwhile and however much', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(20),
        fc.nat(25),
        fc.array(fc.nat(700), { maxLength: 8 }),
        fc.boolean(),
        async (before, cursor, bursts, isOtherThere) => {
          const bench = new Bench();
          const other = isOtherThere ? open(bench, { fresh: true }) : null;
          if (other !== null) bench.hub.goLive(other.place, other.client);
          bench.write(before);
          const from = Math.min(cursor, before);
          const { place, client, ids, text } = open(bench, { cursor: from });
          const left = [...bursts];
          const replay = (after: number) => bench.replay(after, () => bench.write(left.shift() ?? 0));
          bench.write(left.shift() ?? 0);
          await catchUp({ hub: bench.hub, place, client, known: NOTHING, replay, admission, pause });
          bench.write(5);
          await settle();
          expect(ids()).toEqual(range(from + 1, bench.log.length));
          expect(text()).not.toContain('event: gap');
          if (other !== null) expect(other.ids()).toEqual(range(1, bench.log.length));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('reads at the pace of the client', async () => {
    const bench = new Bench();
    bench.write(20, 2000);
    const { place, sink, client, ids } = open(bench, {});
    sink.pause();
    let pages = 0;
    const replay = (after: number) =>
      bench.replay(after, () => {
        pages += 1;
      });
    const done = catchUp({ hub: bench.hub, place, client, known: NOTHING, replay, admission, pause });
    await settle();
    expect(pages).toBe(0);
    sink.resume();
    await done;
    await settle();
    expect(ids()).toEqual(range(1, 20));
  });

  test('asks for admission before each page, and after each time that it waited for the client', async () => {
    const bench = new Bench();
    bench.write(2000, 100);
    const { place, client, ids } = open(bench, {});
    let admissions = 0;
    const most: number[] = [];
    let taken = 0;
    const countingAdmission = async () => {
      admissions += 1;
      most.push(client.cursor - taken);
      taken = client.cursor;
    };
    const replay = (after: number) => bench.replay(after, () => {});
    await catchUp({ hub: bench.hub, place, client, known: NOTHING, replay, admission: countingAdmission, pause });
    await settle();
    expect(ids()).toHaveLength(2000);
    expect(admissions).toBeGreaterThan(2000 / 500);
    expect(Math.max(...most)).toBeLessThanOrEqual(500);
  });

  test('ends when the client goes, and nobody is kept waiting', async () => {
    const bench = new Bench();
    bench.write(20, 2000);
    const { place, sink, client } = open(bench, {});
    sink.pause();
    const done = catchUp({
      hub: bench.hub,
      place,
      client,
      known: NOTHING,
      replay: (after) => bench.replay(after, () => {}),
      admission,
      pause,
    });
    await settle();
    sink.destroy();
    await done;
    bench.hub.leave(place);
    expect([bench.closes, bench.emptied > 0]).toEqual([1, true]);
  });

  test('tells of what the bus showed and its log has lost, and goes on', async () => {
    const bench = new Bench();
    const { place, client, ids, text } = open(bench, {});
    bench.write(2000);
    bench.log.length = 0;
    await catchUp({
      hub: bench.hub,
      place,
      client,
      known: NOTHING,
      replay: (after) => bench.replay(after, () => {}),
      admission,
      pause,
    });
    await settle();
    expect(text()).toMatch(/^event: gap\ndata: \{.*"from":0,"to":\d+\}\n/);
    expect(ids().at(-1)).toBe(2000);
  });

  test.each([
    ['the log is empty', [], { tail: 5, turnIsOver: false }, 2, ['gap 2-5']],
    ['the log is empty and the client has all', [], { tail: 5, turnIsOver: false }, 5, []],
    ['its older part is gone', [4, 5], { tail: 5, turnIsOver: false }, 2, ['gap 2-3', '4', '5']],
    ['it was emptied and begun again', [0], { tail: null, turnIsOver: false }, 2, ['gap 2-99', '100']],
    ['it was emptied, and the client has nothing', [0], { tail: null, turnIsOver: false }, 0, ['100']],
    ['the end of the turn is gone', [], { tail: 5, turnIsOver: true }, 2, ['gap 2-5', 'end']],
    ['the end of the turn is gone and not the rest', [3], { tail: null, turnIsOver: true }, 2, ['3', 'gap 3-3', 'end']],
  ])('says so when %s', async (_name, logged, known, cursor, expected) => {
    const bench = new Bench();
    bench.log.push(...logged.map((id) => (id === 0 ? { ...eventOf(100), prev: 0 } : eventOf(id))));
    const { place, client, sink, text } = open(bench, { cursor });
    const replay = (after: number) => bench.replay(after, () => {});
    await catchUp({ hub: bench.hub, place, client, known, replay, admission, pause });
    await settle();
    const seen = [...text().matchAll(/^id: (\d+)|"from":(\d+),"to":(\d+)/gm)];
    const said = seen.map(([, id, from, to]) => id ?? `gap ${from}-${to}`);
    expect(sink.writableEnded ? [...said, 'end'] : said).toEqual(expected);
  });
});

describe('a live client', () => {
  test('is dropped when it leaves too much unread, and nobody else', async () => {
    const bench = new Bench();
    const deaf = open(bench, { fresh: true });
    deaf.sink.pause();
    const other = open(bench, { fresh: true });
    for (const { place, client } of [deaf, other]) bench.hub.goLive(place, client);
    for (let n = 0; n < 30; n += 1) {
      bench.write(1, 100_000);
      await settle();
    }
    expect(bench.drops).toBe(1);
    expect(deaf.sink.destroyed).toBe(true);
    expect(deaf.sink.writableLength).toBeLessThan(1.3e6);
    expect(other.ids()).toEqual(range(1, 30));
  });

  test('that reads is not dropped for one event of any size', async () => {
    const bench = new Bench();
    const { place, client, ids } = open(bench, { fresh: true });
    bench.hub.goLive(place, client);
    bench.write(1, 5_000_000);
    await settle();
    bench.write(1);
    await settle();
    expect([bench.drops, ids()]).toEqual([0, [1, 2]]);
  });

  test('of a turn sees only that turn, ends with it, and is not told of gaps in front of it', async () => {
    const bench = new Bench();
    bench.write(3);
    const { place, client, sink, text } = open(bench, { fresh: true, turnId: 'mine', endsWithTurn: true, cursor: 1 });
    bench.write(2);
    expect(bench.hub.goLive(place, client)).toBe(true);
    const mine = { ...eventOf(6), turnId: 'mine' };
    bench.hub.onEvents([mine, { ...eventOf(7), turnId: 'mine', type: 'cancelled', data: { reason: 'x' } }, eventOf(8)]);
    await settle();
    expect(text().match(/^(id|event): .*$/gm)).toEqual(['id: 6', 'event: turn.delta', 'id: 7', 'event: cancelled']);
    expect(sink.writableEnded).toBe(true);
  });

  test('of a resumed turn does not end with the interrupt that was decided, should that come late', async () => {
    const bench = new Bench();
    const view = { fresh: true, turnId: 'turn', endsWithTurn: true, cursor: 5 };
    const { place, client, ids } = open(bench, view);
    const interrupt = { ...eventOf(5), type: 'interrupt' } as SessionEvent;
    bench.hub.onEvents([interrupt]);
    bench.hub.goLive(place, client);
    bench.hub.onEvents([interrupt, eventOf(6)]);
    await settle();
    expect(ids()).toEqual([6]);
  });

  test('of the log that stays full is dropped after a minute of heartbeats, and one that reads is not', async () => {
    const bench = new Bench();
    bench.write(20, 2000);
    const { place, sink, client } = open(bench, {});
    sink.pause();
    const replay = (after: number) => bench.replay(after, () => {});
    const done = catchUp({ hub: bench.hub, place, client, known: NOTHING, replay, admission, pause });
    await settle();
    for (let n = 0; n < 12; n += 1) client.beat();
    expect(bench.drops).toBe(0);
    client.beat();
    await done;
    expect([bench.drops, sink.destroyed]).toEqual([1, true]);
  });

  test('that was ended and does not take the last bytes is dropped as well', async () => {
    const bench = new Bench();
    const { place, sink, client } = open(bench, { fresh: true });
    sink.pause();
    bench.hub.goLive(place, client);
    bench.write(1, 50_000);
    bench.hub.endAll();
    for (let n = 0; n < 13; n += 1) client.beat();
    await settle();
    expect([bench.drops, sink.destroyed, bench.closes]).toEqual([1, true, 1]);
  });

  test('hears of its end when the session was deleted while it joined', () => {
    const bench = new Bench();
    const place = bench.hub.join();
    bench.hub.onAnnouncement({ type: 'cancelled', turnId: null, ts: 1, data: { reason: 'session_deleted' } });
    const sink = new PassThrough();
    const view = { turnId: 'mine', endsWithTurn: true, cursor: 0, fresh: true };
    bench.hub.seat(place, new ClientStream(sink, view, bench.hub));
    expect(String(sink.read())).toMatch(/^event: cancelled\ndata: \{"turnId":"mine"/);
    expect(sink.writableEnded).toBe(true);
  });
});
