import { setTimeout as sleep } from 'node:timers/promises';
import { createBullMqQueue } from '@turnwire/shared/adapters/bullmq/job-queue';
import { EQUAL_SHARES, type FairShare, type Job, type JobQueue } from '@turnwire/shared/ports/job-queue';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createRecordingLogger, type LogLine } from '@turnwire/shared/testing/recording-logger';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findRedis, type RedisServer, withRedis } from '../stack/backends/redis.ts';
import { eventually } from '../stack/eventually.ts';
import { describeFairShare } from './job-queue/describe-fair-share.ts';
import { describeJobQueue, type QueueHarness } from './job-queue/describe-job-queue.ts';

const redis = await findRedis('the BullMQ job queue');
const url = redis?.url ?? '';
afterAll(() => redis?.close());

/** Queues over the same keys, each as a process of its own has it. */
interface Processes {
  readonly prefix: string;
  readonly lines: readonly LogLine[];
  start(fairShare?: FairShare): JobQueue;
  closeAll(): Promise<unknown>;
}

function makeProcesses(): Processes {
  const prefix = redis?.newPrefix() ?? '';
  const log = createRecordingLogger();
  const open: JobQueue[] = [];
  return {
    prefix,
    lines: log.lines,
    start(fairShare = EQUAL_SHARES) {
      const queue = createBullMqQueue({ url, prefix, clock: realClock, log, fairShare });
      open.push(queue);
      return queue;
    },
    closeAll: () => Promise.all(open.map((queue) => queue.close())),
  };
}

async function makeBullMqQueue(fairShare = EQUAL_SHARES): Promise<QueueHarness> {
  const processes = makeProcesses();
  const [queue, peer] = [processes.start(fairShare), processes.start(fairShare)];
  return {
    queue,
    peer,
    advance: (ms) => sleep(ms),
    async crash() {
      await Promise.all([queue.close(), peer.close()]);
      return processes.start(fairShare);
    },
    async close() {
      await processes.closeAll();
    },
  };
}

const turn = (sessionId: string): Extract<Job, { kind: 'turn' }> => ({
  kind: 'turn',
  tenantId: 'acme',
  sessionId,
  turnId: null,
});

const never = () => new Promise<void>(() => {});

async function timed<T>(work: Promise<T>): Promise<number> {
  const start = performance.now();
  await work.catch(() => {});
  return performance.now() - start;
}

describe.skipIf(redis === null)('with Redis', () => {
  describeJobQueue('BullMQ', () => makeBullMqQueue());
  describeFairShare('BullMQ', makeBullMqQueue);
});

describe.skipIf(redis === null)('the BullMQ job queue itself', () => {
  let processes: Processes;
  let queue: JobQueue;

  beforeEach(() => {
    processes = makeProcesses();
    queue = processes.start();
  });
  afterEach(() => processes.closeAll());

  test('starts a job by event: in milliseconds after it was enqueued', async () => {
    const started = new Map<string, number>();
    const waits: number[] = [];
    processes.start().consume('turn', 8, async (job) => {
      waits.push(performance.now() - (started.get(job.sessionId) ?? 0));
    });
    await sleep(200);
    for (let index = 0; index < 50; index += 1) {
      const session = `s${index}`;
      started.set(session, performance.now());
      await queue.enqueue(turn(session));
      await sleep(5);
    }
    await eventually(() => expect(waits).toHaveLength(50));
    // 1.4 ms where nothing else runs; the shortest wait that polling could have would be far above this.
    expect(waits.toSorted((a, b) => a - b)[25]).toBeLessThan(200);
  });

  test('adds one job for many calls at once, from two processes', async () => {
    const peer = processes.start();
    await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? queue : peer).enqueue(turn('a'))));
    expect(await queue.counts('turn')).toEqual({ waiting: 1, active: 0, delayed: 0, completed: 0, failed: 0 });
  });

  test('swallows no wake-up: after each one a run begins', async () => {
    const enqueued: { session: string; at: number }[] = [];
    const runs: { session: string; at: number }[] = [];
    for (const each of [queue, processes.start()]) {
      each.consume('turn', 3, async (job, { attempt }) => {
        runs.push({ session: job.sessionId, at: performance.now() });
        await sleep(Math.random() * 8);
        if (attempt === 1 && Math.random() < 0.2) throw new Error('away for a moment');
      });
    }
    await Promise.all(
      Array.from({ length: 6 }, async (_, session) => {
        for (let index = 0; index < 80; index += 1) {
          enqueued.push({ session: `s${session}`, at: performance.now() });
          await queue.enqueue(turn(`s${session}`));
          await sleep(Math.random() * 12);
        }
      }),
    );
    await eventually(() => {
      const forgotten = enqueued.filter(
        ({ session, at }) => !runs.some((run) => run.session === session && run.at >= at),
      );
      expect(forgotten).toEqual([]);
    });
    expect(runs.length).toBeLessThan(enqueued.length * 1.3);
  });

  describe('one job for a session', () => {
    test('that failed while it was enqueued anew is tried again at once, and its attempts count on', async () => {
      const failing = Promise.withResolvers<void>();
      const attempts: number[] = [];
      queue.consume('turn', 1, async (_job, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length === 1) await failing.promise;
      });
      await queue.enqueue(turn('a'));
      await eventually(() => expect(attempts).toEqual([1]));
      await queue.enqueue(turn('a'));
      failing.reject(new Error('down'));
      await eventually(async () =>
        expect(await queue.counts('turn')).toEqual({ waiting: 0, active: 0, delayed: 0, completed: 1, failed: 0 }),
      );
      expect(attempts).toEqual([1, 2]);
    });

    test('that failed stands for one that was to come later', async () => {
      const failing = Promise.withResolvers<void>();
      const attempts: number[] = [];
      queue.consume('turn', 1, async (_job, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length === 1) await failing.promise;
      });
      await queue.enqueue(turn('a'));
      await eventually(() => expect(attempts).toEqual([1]));
      await queue.enqueue(turn('a'), { delayMs: 60_000 });
      failing.reject(new Error('down'));
      await eventually(() => expect(attempts).toEqual([1, 2]));
      await eventually(async () =>
        expect(await queue.counts('turn')).toEqual({ waiting: 0, active: 0, delayed: 0, completed: 1, failed: 0 }),
      );
    });

    test('that waits is still there when a run for the same session fails and nobody takes it', async () => {
      const failing = Promise.withResolvers<void>();
      const consumer = queue.consume('turn', 1, () => failing.promise);
      await queue.enqueue(turn('a'));
      await eventually(async () => expect((await queue.counts('turn')).active).toBe(1));
      await queue.enqueue(turn('a'));
      const closing = consumer.close(5_000);
      failing.reject(new Error('down'));
      await closing;
      const waiting = await queue.list('turn', 'waiting', { offset: 0, limit: 10 });
      expect(waiting).toMatchObject([{ job: turn('a'), attempts: 1, error: 'down' }]);
      expect(await queue.counts('turn')).toMatchObject({ waiting: 1, active: 0, delayed: 0 });
    });

    test('is hastened by one that is due sooner, and not put off by one that is due later', async () => {
      const starts: number[] = [];
      queue.consume('turn', 1, async () => void starts.push(performance.now()));
      await queue.enqueue(turn('a'), { delayMs: 60_000 });
      const from = performance.now();
      await queue.enqueue(turn('a'), { delayMs: 300 });
      await queue.enqueue(turn('a'), { delayMs: 90_000 });
      expect(await queue.counts('turn')).toMatchObject({ delayed: 1 });
      await eventually(() => expect(starts).toHaveLength(1));
      expect((starts[0] ?? 0) - from).toBeGreaterThan(250);
      expect(await queue.counts('turn')).toMatchObject({ delayed: 0, waiting: 0 });
    });

    test('that is retried by hand gives way to one that waits', async () => {
      const consumer = queue.consume('turn', 1, async (_job, { last }) => {
        if (last) void consumer.close(0);
        throw new Error('down');
      });
      await queue.enqueue(turn('a'));
      await eventually(async () => expect((await queue.counts('turn')).failed).toBe(1), 10_000);
      const [failed] = await queue.list('turn', 'failed', { offset: 0, limit: 1 });
      await queue.enqueue(turn('a'));
      expect(await queue.retry('turn', failed!.id)).toBe(true);
      expect(await queue.counts('turn')).toMatchObject({ failed: 0, waiting: 1 });
    });

    test('that is retried by hand has all its attempts again, and is not added twice', async () => {
      const attempts: number[] = [];
      const gate = Promise.withResolvers<void>();
      queue.consume('turn', 1, async (job, { attempt }) => {
        if (job.sessionId === 'busy') return gate.promise;
        attempts.push(attempt);
        throw new Error('down');
      });
      await queue.enqueue(turn('a'));
      await eventually(async () => expect((await queue.counts('turn')).failed).toBe(1), 10_000);
      await queue.enqueue(turn('busy'));
      await eventually(async () => expect((await queue.counts('turn')).active).toBe(1));
      const [failed] = await queue.list('turn', 'failed', { offset: 0, limit: 1 });
      expect(await queue.retry('turn', failed!.id)).toBe(true);
      await queue.enqueue(turn('a'));
      expect(await queue.counts('turn')).toMatchObject({ failed: 0, waiting: 1 });
      gate.resolve();
      await eventually(() => expect(attempts).toEqual([1, 2, 3, 4, 5, 1]));
    });
  });

  test('keeps the newest 1,000 completed jobs', async () => {
    queue.consume('turn', 20, async () => {});
    await Promise.all(Array.from({ length: 1_050 }, (_, index) => queue.enqueue(turn(`s${index}`))));
    await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ waiting: 0, active: 0 }), 15_000);
    expect((await queue.counts('turn')).completed).toBe(1_000);
  });

  test('keeps ids and what failed, and neither stacks nor traces of its own', async () => {
    queue.consume('turn', 1, async () => {
      throw new Error('down');
    });
    await queue.enqueue(turn('a'));
    await eventually(async () => expect((await queue.counts('turn')).delayed).toBe(1));
    const [record] = await queue.list('turn', 'delayed', { offset: 0, limit: 1 });
    const stored = await withRedis(url, (client) => client.hgetall(`${processes.prefix}:turn:${record?.id}`));
    expect(JSON.parse(stored.data ?? '')).toEqual(turn('a'));
    expect(stored).toMatchObject({ failedReason: 'down', stacktrace: '[]' });
  });

  test('lists the newest of the delayed first, however late they are due', async () => {
    for (const [index, delayMs] of [50_000, 10_000, 30_000].entries())
      await queue.enqueue(turn(`s${index}`), { delayMs });
    const sessions = async (offset: number, limit: number) =>
      (await queue.list('turn', 'delayed', { offset, limit })).map(({ job }) => job.kind === 'turn' && job.sessionId);
    expect(await sessions(0, 10)).toEqual(['s2', 's1', 's0']);
    expect(await sessions(1, 1)).toEqual(['s1']);
    expect(await sessions(0, 0)).toEqual([]);
  });

  test('is not misled by what is no job of its own', async () => {
    await withRedis(url, async (client) => {
      const key = `${processes.prefix}:turn:7`;
      await client.hset(key, { name: 'turn', data: '{"hello":"world"}', opts: '{}', timestamp: '1' });
      await client.lpush(`${processes.prefix}:turn:wait`, '7');
    });
    expect(await queue.list('turn', 'waiting', { offset: 0, limit: 10 })).toEqual([]);
    expect(await queue.get('turn', '7')).toBeNull();
    for (const id of ['meta', 'id', 'wait', '../turn']) expect(await queue.get('turn', id)).toBeNull();
    const seen: string[] = [];
    queue.consume('turn', 1, async (job) => void seen.push(job.sessionId));
    await queue.enqueue(turn('a'));
    await eventually(() => expect(seen).toEqual(['a']));
  });
});

describe.skipIf(!redis?.server)('the BullMQ job queue, when Redis fails', () => {
  const server = redis?.server as RedisServer;
  let processes: Processes;
  let queue: JobQueue;

  beforeEach(() => {
    processes = makeProcesses();
    queue = processes.start();
  });
  afterEach(async () => {
    await processes.closeAll();
    await server.start().catch(() => {});
  });

  /** As the sweeper would: until it is there. */
  async function enqueueStubbornly(job: Job): Promise<void> {
    for (;;) {
      try {
        await queue.enqueue(job);
        return;
      } catch (error) {
        expect(error).toMatchObject({ code: 'unavailable' });
        await sleep(50);
      }
    }
  }

  test('and is restarted in the middle of 200 jobs, each runs at least once', async () => {
    const done = new Set<string>();
    for (const each of [queue, processes.start()]) {
      each.consume('turn', 4, async (job) => {
        await sleep(10);
        done.add(job.sessionId);
      });
    }
    const all = Array.from({ length: 200 }, (_, index) => `s${index}`);
    const enqueueing = Promise.all(
      all.map(async (session, index) => {
        await sleep(index * 5);
        await enqueueStubbornly(turn(session));
      }),
    );
    await eventually(() => expect(done.size).toBeGreaterThan(40));
    await server.stop('SIGKILL');
    expect(done.size).toBeLessThan(all.length);
    await sleep(500);
    await server.start();
    await enqueueing;
    // What ran when the server died is waiting again when its lock has expired.
    await eventually(() => expect([...done].toSorted()).toEqual(all.toSorted()), 30_000);
    await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ waiting: 0, active: 0 }), 30_000);
  }, 120_000);

  test('calls are refused within about a second, then at once, and nothing of them is left', async () => {
    await queue.ping();
    await server.stop('SIGTERM');
    const first = queue.enqueue(turn('a'));
    await expect(first).rejects.toMatchObject({ code: 'unavailable', retry: true });
    expect(await timed(queue.enqueue(turn('b')))).toBeLessThan(3_000);
    await sleep(1_000);
    const waits = await Promise.all(Array.from({ length: 500 }, (_, n) => timed(queue.enqueue(turn(`s${n}`)))));
    expect(Math.max(...waits)).toBeLessThan(900); // less than the wait for a connection
    await expect(queue.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(queue.counts('turn')).rejects.toMatchObject({ code: 'unavailable' });
    await server.start();
    await eventually(() => queue.ping());
    expect(await queue.counts('turn')).toMatchObject({ waiting: 0, delayed: 0 });
    const news = processes.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
    expect(news).toEqual(['Redis cannot be reached: no jobs until it is back.', 'Redis is back.']);
  });

  test('workers take jobs again soon after its return', async () => {
    const seen: string[] = [];
    processes.start().consume('turn', 2, async (job) => void seen.push(job.sessionId));
    await queue.enqueue(turn('before'));
    await eventually(() => expect(seen).toEqual(['before']));
    await server.stop('SIGTERM');
    await sleep(6_000); // longer than a wait for a job; an outage of 30 s is no different, since delays grow to 1 s only
    await server.start();
    const returned = performance.now();
    await enqueueStubbornly(turn('after'));
    await eventually(() => expect(seen).toEqual(['before', 'after']), 15_000);
    expect(performance.now() - returned).toBeLessThan(15_000);
  });

  test('the end of a job that it did not see is stored when it is back', async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    queue.consume('turn', 1, async () => {
      runs += 1;
      await gate.promise;
    });
    await queue.enqueue(turn('a'));
    await eventually(() => expect(runs).toBe(1));
    await server.stop('SIGKILL');
    gate.resolve();
    await sleep(1_500);
    await server.start();
    await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ active: 0, completed: 1 }), 10_000);
    expect(runs).toBe(1);
  });

  test('and stands still for 5 s, nobody hangs, and all goes on afterwards', async () => {
    const seen = new Set<string>();
    processes.start().consume('turn', 2, async (job) => void seen.add(job.sessionId));
    await queue.enqueue(turn('before'));
    await eventually(() => expect(seen).toEqual(new Set(['before'])));
    server.signal('SIGSTOP');
    const stopped = performance.now();
    expect(await timed(queue.enqueue(turn('during')))).toBeLessThan(4_500);
    while (performance.now() - stopped < 5_000) {
      await expect(queue.ping()).rejects.toMatchObject({ code: 'unavailable' });
      await sleep(100);
    }
    server.signal('SIGCONT');
    await enqueueStubbornly(turn('after'));
    await eventually(() => expect(seen).toContain('after'), 10_000);
  });

  test('it may be away at the start', async () => {
    await server.stop('SIGTERM');
    const late = processes.start();
    const seen: string[] = [];
    const consumer = late.consume('turn', 1, async (job) => void seen.push(job.sessionId));
    expect(await timed(late.enqueue(turn('a')))).toBeLessThan(3_000);
    // And at the end.
    expect(await timed(late.consume('extraction', 1, never).close(60_000))).toBeLessThan(5_000);
    await server.start();
    await eventually(() => late.enqueue(turn('b')));
    await eventually(() => expect(seen).toEqual(['b']), 10_000);
    await consumer.close(1_000);
  });

  test('and has lost everything, workers go on with later jobs, whose ids are new', async () => {
    const gate = Promise.withResolvers<void>();
    const ids: string[] = [];
    const seen: string[] = [];
    processes.start().consume('turn', 2, async (job, { id }) => {
      ids.push(id);
      if (job.sessionId === 'busy') await gate.promise;
      seen.push(job.sessionId);
    });
    await queue.enqueue(turn('busy'));
    await eventually(() => expect(ids).toHaveLength(1));
    await withRedis(url, (client) => client.flushall());
    await queue.enqueue(turn('busy2'));
    await eventually(() => expect(seen).toEqual(['busy2']));
    gate.resolve();
    await eventually(() => expect(seen).toEqual(['busy2', 'busy']));
    for (const session of ['x', 'y', 'busy2']) await queue.enqueue(turn(session));
    await eventually(() => expect(seen).toHaveLength(5));
    expect(new Set(ids).size).toBe(ids.length);
    await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ active: 0, completed: 4 }));
  });

  test('and has forgotten its scripts, the next call but one succeeds', async () => {
    const seen: string[] = [];
    processes.start().consume('turn', 1, async (job) => void seen.push(job.sessionId));
    await queue.enqueue(turn('a'));
    await eventually(() => expect(seen).toEqual(['a']));
    await withRedis(url, (client) => client.script('FLUSH'));
    await enqueueStubbornly(turn('b'));
    await eventually(() => expect(seen).toEqual(['a', 'b']));
  });

  test('a worker that has stopped taking jobs is replaced', async () => {
    const busy = Promise.withResolvers<void>();
    const seen: string[] = [];
    let most = 0;
    let running = 0;
    processes.start().consume('turn', 2, async (job) => {
      seen.push(job.sessionId);
      running += 1;
      most = Math.max(most, running);
      if (job.sessionId === 'busy') await busy.promise;
      else await sleep(20);
      running -= 1;
    });
    await queue.enqueue(turn('busy'));
    await eventually(() => expect(seen).toEqual(['busy']));
    await sleep(100); // until the worker waits for the next one
    // It may no longer wait for jobs, and so takes none; a new worker looks before it waits.
    await withRedis(url, (client) => client.acl('SETUSER', 'default', '-bzpopmin'));
    try {
      await withRedis(url, (client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
      for (const session of ['a', 'b', 'c']) await enqueueStubbornly(turn(session));
      await eventually(() => expect(seen.toSorted()).toEqual(['a', 'b', 'busy', 'c']), 15_000);
    } finally {
      await withRedis(url, (client) => client.acl('SETUSER', 'default', '+bzpopmin'));
    }
    expect(processes.lines.map(({ message }) => message)).toContain(
      'Jobs wait and none is taken: the worker is replaced.',
    );
    busy.resolve();
    await queue.enqueue(turn('d'));
    await eventually(() => expect(seen).toContain('d'));
    expect(most).toBe(2);
  }, 90_000);

  test('it warns of a server that may evict jobs', async () => {
    const warnings = () => processes.lines.filter(({ message }) => message.includes('noeviction'));
    await queue.ping();
    await withRedis(url, (client) => client.config('SET', 'maxmemory-policy', 'allkeys-lru'));
    await processes.start().ping();
    await eventually(() => expect(warnings()).toMatchObject([{ level: 'warn', fields: { policy: 'allkeys-lru' } }]));
    await withRedis(url, (client) => client.config('SET', 'maxmemory-policy', 'noeviction'));
  });
});
