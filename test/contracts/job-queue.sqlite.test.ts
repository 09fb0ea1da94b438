import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLastAttempt, jobRetryDelay } from '@turnwire/shared/adapters/job-queue-retry';
import { type Database, openDatabase } from '@turnwire/shared/adapters/sqlite/database';
import { createSqliteJobQueue } from '@turnwire/shared/adapters/sqlite/job-queue';
import { allMigrations } from '@turnwire/shared/adapters/sqlite/migrations/all-migrations';
import { createSystemIds } from '@turnwire/shared/adapters/system/ids';
import { unavailable } from '@turnwire/shared/domain/errors';
import { EQUAL_SHARES, type Job, type JobQueue } from '@turnwire/shared/ports/job-queue';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import { createRecordingLogger, type LogLine } from '@turnwire/shared/testing/recording-logger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMortalClock } from '../stack/mortal-clock.ts';
import { describeFairShare } from './job-queue/describe-fair-share.ts';
import { describeJobQueue, type QueueHarness } from './job-queue/describe-job-queue.ts';

interface SqliteHarness extends QueueHarness {
  /** Statements that change something, so far. */
  writes(): number;
  /** In ms, of all that were set. */
  longestTimer(): number;
  /** Lets every write fail until it is called again. */
  breakDisk(broken: boolean): void;
  readonly lines: readonly LogLine[];
}

async function makeSqliteQueue(fairShare = EQUAL_SHARES): Promise<SqliteHarness> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnwire-queue-'));
  const time = createManualClock(Date.UTC(2026, 0, 1));
  const log = createRecordingLogger();
  let writes = 0;
  let broken = false;
  let longestTimer = 0;

  const open = () => {
    const real = openDatabase(dataDir, allMigrations);
    const database: Database = {
      ...real,
      run(sql, ...values) {
        if (broken) throw unavailable('The store', new Error('disk full'));
        writes += 1;
        return real.run(sql, ...values);
      },
    };
    const mortal = createMortalClock(time);
    const clock: typeof mortal = {
      ...mortal,
      after(ms, fn) {
        longestTimer = Math.max(longestTimer, ms);
        return mortal.after(ms, fn);
      },
    };
    return {
      database,
      clock,
      queue: createSqliteJobQueue({ database, clock, ids: createSystemIds(clock), log, fairShare }),
    };
  };

  let life = open();
  const first = life.queue;
  return {
    queue: first,
    peer: first,
    advance: (ms) => time.advance(ms),
    async crash() {
      life.clock.die();
      life.database.close();
      life = open();
      return life.queue;
    },
    async close() {
      await life.queue.close();
      life.database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
    writes: () => writes,
    longestTimer: () => longestTimer,
    breakDisk(value) {
      broken = value;
    },
    lines: log.lines,
  };
}

describeJobQueue('SQLite', () => makeSqliteQueue());
describeFairShare('SQLite', makeSqliteQueue);

describe('the SQLite job queue itself', () => {
  let harness: SqliteHarness;
  let queue: JobQueue;

  beforeEach(async () => {
    harness = await makeSqliteQueue();
    queue = harness.queue;
  });
  afterEach(() => harness.close());

  const turn = (sessionId: string): Job => ({ kind: 'turn', tenantId: 'acme', sessionId, turnId: null });

  test('starts a job before the event loop turns, for two writes in all', async () => {
    let started = 0;
    queue.consume('turn', 10, async () => {
      started += 1;
    });
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await queue.enqueue(turn('a'));
    for (let microtask = 0; microtask < 5 && started === 0; microtask += 1) await null;
    expect({ started, turned }).toEqual({ started: 1, turned: false });
    await harness.advance(0);
    expect(await queue.counts('turn')).toMatchObject({ completed: 1 });
    expect(harness.writes()).toBe(2);
  });

  test('writes nothing for a job that waits already', async () => {
    await queue.enqueue(turn('a'));
    const before = harness.writes();
    await queue.enqueue(turn('a'));
    expect(harness.writes()).toBe(before);
  });

  test('keeps one job for a session that failed while it was enqueued anew', async () => {
    const failing = Promise.withResolvers<void>();
    const attempts: number[] = [];
    queue.consume('turn', 1, async (_job, { attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) await failing.promise;
    });
    await queue.enqueue(turn('a'));
    await harness.advance(0);
    await queue.enqueue(turn('a'));
    failing.reject(new Error('down'));
    await harness.advance(0);
    // As if it had failed first and been enqueued then: at once, and its attempts count on.
    expect(attempts).toEqual([1, 2]);
    expect(await queue.counts('turn')).toEqual({ waiting: 0, active: 0, delayed: 0, completed: 1, failed: 0 });
    expect(harness.lines).toMatchObject([{ level: 'warn', fields: { attempt: 1, kind: 'turn' } }]);
  });

  test('keeps one that waits when a run for the same session fails and nobody takes it', async () => {
    const failing = Promise.withResolvers<void>();
    const consumer = queue.consume('turn', 1, () => failing.promise);
    await queue.enqueue(turn('a'));
    await harness.advance(0);
    await queue.enqueue(turn('a'));
    await queue.enqueue(turn('b'));
    const closing = consumer.close(1_000);
    failing.reject(new Error('down'));
    await closing;
    const waiting = await queue.list('turn', 'waiting', { offset: 0, limit: 10 });
    expect(waiting.map(({ job, attempts, error }) => ({ job, attempts, error }))).toEqual([
      { job: turn('b'), attempts: 0, error: null },
      { job: turn('a'), attempts: 1, error: 'down' },
    ]);
    expect((await queue.counts('turn')).waiting).toBe(2);
  });

  test('finds one job after a crash where one ran and another waited, with the attempts of both', async () => {
    let runs = 0;
    queue.consume('turn', 1, async () => {
      runs += 1;
      if (runs === 1) throw new Error('down');
      await new Promise(() => {});
    });
    await queue.enqueue(turn('a'));
    await harness.advance(1_000);
    expect(runs).toBe(2);
    await queue.enqueue(turn('a'));
    const next = await harness.crash();
    expect(await next.counts('turn')).toMatchObject({ waiting: 1, delayed: 0 });
    const attempts: number[] = [];
    next.consume('turn', 1, async (_job, { attempt }) => void attempts.push(attempt));
    await harness.advance(0);
    expect(attempts).toEqual([2]);
    const third = await harness.crash();
    expect(await third.counts('turn')).toEqual({ waiting: 0, active: 0, delayed: 0, completed: 1, failed: 0 });
  });

  test('has a job after a crash that was to wait no longer', async () => {
    await queue.enqueue(turn('a'), { delayMs: 60_000 });
    await queue.enqueue(turn('a'));
    const next = await harness.crash();
    expect(await next.counts('turn')).toMatchObject({ waiting: 1, delayed: 0 });
  });

  test('gives a failed job that is retried all its attempts again', async () => {
    const attempts: number[] = [];
    queue.consume('turn', 1, async (_job, { attempt }) => {
      attempts.push(attempt);
      throw new Error('down');
    });
    await queue.enqueue(turn('a'));
    await harness.advance(10_000);
    const [failed] = await queue.list('turn', 'failed', { offset: 0, limit: 1 });
    expect(await queue.retry('turn', failed!.id)).toBe(true);
    await harness.advance(10_000);
    expect(attempts).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
    expect(await queue.counts('turn')).toMatchObject({ failed: 1, delayed: 0, waiting: 0 });
  });

  test('keeps a long line in order', async () => {
    const sessions = Array.from({ length: 2_500 }, (_, index) => `s${index}`);
    for (const session of sessions) await queue.enqueue(turn(session));
    const seen: string[] = [];
    queue.consume('turn', 1, async (job) => void seen.push(job.sessionId));
    await harness.advance(0);
    expect(seen).toEqual(sessions);
  });

  test('keeps the newest completed jobs only', async () => {
    queue.consume('turn', 50, async () => {});
    for (let index = 0; index < 1_500; index += 1) await queue.enqueue(turn(`s${index}`));
    await harness.advance(0);
    expect((await queue.counts('turn')).completed).toBe(1_500);
    await harness.advance(10_000);
    const { completed } = await queue.counts('turn');
    expect(completed).toBeGreaterThanOrEqual(1_000);
    expect(completed).toBeLessThanOrEqual(1_100);
    const kept = await queue.list('turn', 'completed', { offset: 0, limit: 2_000 });
    expect(kept).toHaveLength(completed);
    expect(kept[0]?.job).toEqual(turn('s1499'));
    expect(kept.at(-1)?.job).toEqual(turn(`s${1_500 - completed}`));
    const next = await harness.crash();
    expect((await next.counts('turn')).completed).toBe(completed);
  });

  test('refuses a job that it could not store, and goes on when the disk does', async () => {
    const seen: string[] = [];
    queue.consume('turn', 1, async (job) => void seen.push(job.sessionId));
    harness.breakDisk(true);
    await expect(queue.enqueue(turn('a'))).rejects.toMatchObject({ code: 'unavailable' });
    await harness.advance(10);
    expect(seen).toEqual([]);
    harness.breakDisk(false);
    await queue.enqueue(turn('a'));
    await harness.advance(0);
    expect(seen).toEqual(['a']);
  });

  test('runs a job again in the next process if its end could not be stored', async () => {
    queue.consume('turn', 1, async () => harness.breakDisk(true));
    await queue.enqueue(turn('a'));
    await harness.advance(0);
    expect(harness.lines).toMatchObject([{ level: 'error', message: 'The end of a job could not be stored.' }]);
    harness.breakDisk(false);
    const next = await harness.crash();
    let runs = 0;
    next.consume('turn', 1, async () => {
      runs += 1;
    });
    await harness.advance(0);
    expect(runs).toBe(1);
  });

  test('holds jobs back for longer than a timer can', async () => {
    const seen: string[] = [];
    queue.consume('turn', 1, async (job) => void seen.push(job.sessionId));
    const month = 30 * 24 * 3_600_000;
    await queue.enqueue(turn('a'), { delayMs: month });
    await harness.advance(month - 1);
    expect(seen).toEqual([]);
    await harness.advance(1);
    expect(seen).toEqual(['a']);
    // What Node's timers can hold; a longer one fires at once.
    expect(harness.longestTimer()).toBe(2 ** 31 - 1);
  });

  test('tries an extraction for longer than five minutes, a turn for seconds', () => {
    const span = (kind: 'turn' | 'extraction', random: number) => {
      let total = 0;
      for (let attempt = 1; !isLastAttempt(kind, attempt); attempt += 1) total += jobRetryDelay(kind, attempt, random);
      return total;
    };
    expect(span('extraction', 0)).toBeGreaterThan(300_000);
    expect(span('turn', 1)).toBeLessThan(5_000);
    expect(jobRetryDelay('turn', 2, 0)).toBeGreaterThan(jobRetryDelay('turn', 1, 1));
  });
});
