import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInProcessBus } from '@turnwire/shared/adapters/in-process/event-bus';
import { EventChannels } from '@turnwire/shared/adapters/in-process/event-channels';
import { createEventWriter } from '@turnwire/shared/adapters/in-process/event-writer';
import { GroupCommit } from '@turnwire/shared/adapters/in-process/group-commit';
import { openDatabase } from '@turnwire/shared/adapters/sqlite/database';
import { createSqliteEventLog } from '@turnwire/shared/adapters/sqlite/event-log';
import { allMigrations } from '@turnwire/shared/adapters/sqlite/migrations/all-migrations';
import { eventId, type NumberedEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventLog } from '@turnwire/shared/ports/event-log';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { createRecordingLogger, type LogLine } from '@turnwire/shared/testing/recording-logger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMortalClock } from '../stack/mortal-clock.ts';
import { Collector, readAll } from './event-bus/collector.ts';
import { type BusHarness, describeEventBus } from './event-bus/describe-event-bus.ts';

interface InProcessHarness extends BusHarness {
  /** What the bus of the living process writes to. */
  readonly eventLog: EventLog;
  advance(ms: number): Promise<void>;
  /** Transactions of the log so far, as how many sessions each had. */
  readonly commits: number[];
  /** Lets every write of the log fail until it is called again. */
  breakDisk(broken: boolean): void;
  readonly lines: readonly LogLine[];
}

async function makeInProcessBus(): Promise<InProcessHarness> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnwire-bus-'));
  const time = createManualClock(Date.UTC(2026, 0, 1));
  const logger = createRecordingLogger();
  const commits: number[] = [];
  let broken = false;

  const open = () => {
    const database = openDatabase(dataDir, allMigrations);
    const real = createSqliteEventLog(database);
    const log: EventLog = {
      ...real,
      write(batch) {
        if (broken) throw new Error('disk full');
        commits.push(batch.length);
        real.write(batch);
      },
    };
    const clock = createMortalClock(time);
    return { database, clock, log, bus: createInProcessBus({ log, clock, logger }) };
  };

  let life = open();
  const first = life.bus;
  return {
    bus: first,
    peer: first,
    get eventLog() {
      return life.log;
    },
    async crash() {
      life.clock.die();
      life.database.close();
      life = open();
      return life.bus;
    },
    async close() {
      await life.bus.close();
      life.database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
    advance: (ms) => time.advance(ms),
    commits,
    breakDisk(value) {
      broken = value;
    },
    lines: logger.lines,
  };
}

describeEventBus('in-process', makeInProcessBus);

const key: SessionKey = { tenantId: 'acme', sessionId: 'ses_1' };

function delta(n: number, token = 1): NumberedEvent {
  const data = { step: 1, text: `${n} ` };
  return { type: 'turn.delta', turnId: 'turn_1', data, ts: 1_000 + n, id: eventId(token, n) };
}

describe('the in-process bus itself', () => {
  let harness: InProcessHarness;

  beforeEach(async () => {
    harness = await makeInProcessBus();
  });
  afterEach(() => harness.close());

  test('shows an event before append returns, and logs it soon, with all sessions’ in one transaction', async () => {
    const { bus, commits } = harness;
    const seen = new Collector();
    await bus.subscribe(key, seen);
    for (let session = 1; session <= 20; session += 1) {
      const writer = await bus.openWriter({ ...key, sessionId: `ses_${session}` }, 1);
      writer.append([delta(1)]);
      writer.append([delta(2)]);
    }
    expect(seen.ids).toEqual([delta(1).id, delta(2).id]);
    expect(commits).toEqual([]);
    await harness.advance(100);
    expect(commits).toEqual([20]);
    expect(harness.eventLog.lastId(key)).toBe(delta(2).id);
    await harness.advance(10_000);
    expect(commits).toEqual([20]);
    const again = await bus.openWriter(key, 1);
    again.append([delta(3)]);
    await harness.advance(100);
    expect(commits).toEqual([20, 1]);
  });

  test('replays what is shown but not logged yet', async () => {
    const { bus, commits } = harness;
    const writer = await bus.openWriter(key, 1);
    writer.append([delta(1)]);
    await writer.flush();
    writer.append([delta(2), delta(3)]);
    expect((await readAll(bus, key, delta(2).id)).map(({ id }) => id)).toEqual([delta(3).id]);
    expect((await readAll(bus, key)).map(({ id }) => id)).toEqual([delta(1).id, delta(2).id, delta(3).id]);
    expect(commits).toEqual([1]);
  });

  test('refuses an older holder as soon as a newer one has opened, and logs what it had shown', async () => {
    const { bus } = harness;
    const seen = new Collector();
    await bus.subscribe(key, seen);
    const older = await bus.openWriter(key, 1);
    older.append([delta(1)]);
    const newer = await bus.openWriter(key, 2);
    expect(newer.confirmedId).toBe(delta(1).id);
    older.append([delta(2)]);
    await expect(older.flush()).rejects.toMatchObject({ code: 'lease_lost' });
    await expect(bus.openWriter(key, 1)).rejects.toMatchObject({ code: 'lease_lost' });
    newer.append([delta(1, 2)]);
    await newer.flush();
    expect(seen.ids).toEqual([delta(1).id, delta(1, 2).id]);
  });

  test('keeps events while the disk fails, and writes them in order when it works again', async () => {
    const { bus, lines } = harness;
    const seen = new Collector();
    await bus.subscribe(key, seen);
    const writer = await bus.openWriter(key, 1);
    harness.breakDisk(true);
    writer.append([delta(1)]);
    await expect(writer.flush()).rejects.toMatchObject({ code: 'unavailable', retry: true });
    await expect(bus.ping()).rejects.toMatchObject({ code: 'unavailable' });
    writer.append([delta(2)]);
    await harness.advance(1_000);
    expect(lines[0]).toMatchObject({ level: 'error', fields: { sessions: 1 } });
    expect(writer.confirmedId).toBe(0);
    expect(seen.ids).toEqual([delta(1).id, delta(2).id]);
    harness.breakDisk(false);
    writer.append([delta(3)]);
    await writer.flush();
    expect(writer.confirmedId).toBe(delta(3).id);
    expect(harness.eventLog.read(key, 0, 10).map(({ id, prev }) => [id, prev])).toEqual([
      [delta(1).id, 0],
      [delta(2).id, delta(1).id],
      [delta(3).id, delta(2).id],
    ]);
  });

  test('writes by itself when the disk works again', async () => {
    const { bus } = harness;
    const writer = await bus.openWriter(key, 1);
    harness.breakDisk(true);
    writer.append([delta(1)]);
    await harness.advance(200);
    writer.close();
    harness.breakDisk(false);
    await harness.advance(1_000);
    expect(harness.eventLog.lastId(key)).toBe(delta(1).id);
  });

  test('writes what is left when it is closed', async () => {
    const writer = await harness.bus.openWriter(key, 1);
    writer.append([delta(1)]);
    await harness.bus.close();
    expect(harness.eventLog.lastId(key)).toBe(delta(1).id);
  });

  test('lets nobody write to a session that was deleted', async () => {
    const { bus } = harness;
    const seen = new Collector();
    await bus.subscribe(key, seen);
    const writer = await bus.openWriter(key, 1);
    writer.append([delta(1)]);
    await bus.delete(key);
    writer.append([delta(2)]);
    await expect(writer.flush()).rejects.toMatchObject({ code: 'lease_lost' });
    await harness.advance(1_000);
    expect(harness.eventLog.lastId(key)).toBe(0);
    expect(seen.ids).toEqual([delta(1).id]);
  });

  test('tells the log of a listener that throws', async () => {
    const { bus, lines } = harness;
    bus.onNudge(key, () => {
      throw new Error('broken');
    });
    let nudged = false;
    bus.onNudge(key, () => {
      nudged = true;
    });
    bus.nudge(key);
    expect(nudged).toBe(true);
    expect(lines).toMatchObject([{ level: 'error', fields: { ...key, err: { message: 'broken' } } }]);
  });

  test('frees the channel of a session when its writer has closed and its events are logged, in either order', async () => {
    const logger = createRecordingLogger();
    const channels = new EventChannels(logger);
    const commit = new GroupCommit({ log: harness.eventLog, clock: createManualClock(0), logger, channels });
    for (const order of ['close, write', 'write, close']) {
      const channel = channels.open({ ...key, sessionId: order });
      const writer = Symbol(order);
      channel.admit(writer, 1, 0);
      const handle = createEventWriter({ channel, channels, commit, writer, token: 1 });
      handle.append([delta(1)]);
      const steps =
        order === 'close, write' ? [handle.close, () => commit.write()] : [() => commit.write(), handle.close];
      for (const step of steps) {
        expect(channels.size).toBe(1);
        step();
      }
      expect(channels.size).toBe(0);
    }
  });

  test('keeps no channel that nobody needs', () => {
    const channels = new EventChannels(createRecordingLogger());
    const channel = channels.open(key);
    const writer = Symbol('writer');
    channel.admit(writer, 1, 0);
    channel.take([delta(1)]);
    const watcher = { listener: new Collector() };
    channel.eventWatchers.add(watcher);
    const nudged = { listener: () => {} };
    channel.nudgeWatchers.add(nudged);
    const steps = [
      () => channel.leave(writer),
      () => channel.eventWatchers.delete(watcher),
      () => channel.nudgeWatchers.delete(nudged),
      () => channel.confirm(),
    ];
    for (const step of steps) {
      channels.release(channel);
      expect(channels.size).toBe(1);
      step();
    }
    channels.release(channel);
    expect(channels.size).toBe(0);
  });
});

describe('the SQLite event log', () => {
  let harness: InProcessHarness;
  let log: EventLog;

  beforeEach(async () => {
    harness = await makeInProcessBus();
    log = harness.eventLog;
  });
  afterEach(() => harness.close());

  const chain = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => {
      const n = from + index;
      return { ...delta(n), prev: n === 1 ? 0 : delta(n - 1).id };
    });

  test('skips ids that it has, whatever came with them', () => {
    log.write([{ key, events: chain(1, 5) }]);
    log.write([{ key, events: chain(3, 8) }]);
    log.write([{ key, events: chain(8, 8) }]);
    expect(log.read(key, 0, 100)).toEqual(chain(1, 8));
  });

  test('keeps a hole in the chain as it came', () => {
    const events = [...chain(1, 3), ...chain(5, 6)];
    log.write([{ key, events }]);
    expect(log.read(key, 0, 100)).toEqual(events);
  });

  test('reads at most what was asked for', () => {
    log.write([{ key, events: chain(1, 350) }]);
    for (let n = 351; n <= 420; n += 1) log.write([{ key, events: chain(n, n) }]);
    for (const [after, limit] of [
      [0, 1],
      [0, 99],
      [50, 100],
      [0, 350],
      [300, 100],
      [340, 200],
      [0, 1_000],
    ] as const) {
      const expected = chain(after + 1, Math.min(after + limit, 420));
      expect(log.read(key, eventId(1, after), limit)).toEqual(expected);
    }
  });

  test('stores a batch wholly or not at all', () => {
    const poison = { ...chain(1, 1)[0]!, ts: Number.NaN };
    expect(() =>
      log.write([
        { key, events: chain(1, 3) },
        { key: { ...key, sessionId: 'ses_2' }, events: [poison] },
      ]),
    ).toThrow();
    expect(log.lastId(key)).toBe(0);
  });

  test('prunes exactly what is older, and no more than was asked for', () => {
    const other = { ...key, sessionId: 'ses_2' };
    log.write([
      { key, events: chain(1, 10) },
      { key: other, events: chain(1, 4) },
    ]);
    const total = () => log.read(key, 0, 100).length + log.read(other, 0, 100).length;
    expect(log.prune(delta(1).ts, 100)).toBe(0);
    expect(log.prune(delta(4).ts, 4)).toBe(4);
    expect(total()).toBe(10);
    expect(log.prune(delta(4).ts, 100)).toBe(2);
    expect(log.prune(delta(4).ts, 100)).toBe(0);
    expect(log.read(key, 0, 100)).toEqual(chain(4, 10));
    expect(log.read(other, 0, 100)).toEqual(chain(4, 4));
    expect(log.lastId(key)).toBe(delta(10).id);
  });
});
