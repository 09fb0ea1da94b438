import type { Job, JobQueue, JobRun } from '@turnwire/shared/ports/job-queue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../stack/eventually.ts';

/** A queue of its own for one test. */
export interface QueueHarness {
  readonly queue: JobQueue;
  /** Another process's view of the queue; the queue itself where there is no second process. */
  readonly peer: JobQueue;
  /** Lets this much time pass for the queue: at once, or, where it is a server's, by waiting. */
  advance(ms: number): Promise<void>;
  /** The process dies without a word: answers the queue as the next process opens it. */
  crash(): Promise<JobQueue>;
  /** Closes what is open and removes the data. */
  close(): Promise<void>;
}

type TurnJob = Extract<Job, { kind: 'turn' }>;

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** More than any delay before a turn's next attempt. */
const RETRY_MS = 5_000;

const never = () => new Promise<void>(() => {});

function turn(sessionId: string, tenantId = 'acme'): TurnJob {
  return { kind: 'turn', tenantId, sessionId, turnId: `turn_of_${sessionId}` };
}

function extraction(userId: string): Extract<Job, { kind: 'extraction' }> {
  return { kind: 'extraction', tenantId: 'acme', userId };
}

function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** What every job queue has to do. */
export function describeJobQueue(name: string, make: () => Promise<QueueHarness>): void {
  describe(`the ${name} job queue`, () => {
    let harness: QueueHarness;
    let queue: JobQueue;

    beforeEach(async () => {
      harness = await make();
      queue = harness.queue;
    });
    afterEach(() => harness.close());

    /** Consumes turns and notes them. */
    function collect(from: JobQueue = queue, concurrency = 10): { jobs: TurnJob[]; runs: JobRun[] } {
      const seen = { jobs: [] as TurnJob[], runs: [] as JobRun[] };
      from.consume('turn', concurrency, async (job, run) => {
        seen.jobs.push(job);
        seen.runs.push(run);
      });
      return seen;
    }

    describe('handing out', () => {
      test('gives a job to a consumer that waits for one', async () => {
        const seen = collect(harness.peer);
        await queue.enqueue(turn('a'));
        await eventually(() => expect(seen.jobs).toEqual([turn('a')]));
        expect(seen.runs[0]).toMatchObject({ attempt: 1, last: false });
      });

      test('keeps jobs for a consumer that comes later, in the order of enqueueing', async () => {
        const sessions = Array.from({ length: 25 }, (_, index) => `s${index}`);
        for (const session of sessions) await queue.enqueue(turn(session));
        const seen = collect(harness.peer, 1);
        await eventually(() => expect(seen.jobs.map(({ sessionId }) => sessionId)).toEqual(sessions));
      });

      test('carries every field of a job', async () => {
        const jobs: Job[] = [];
        queue.consume('turn', 1, async (job) => void jobs.push(job));
        queue.consume('extraction', 1, async (job) => void jobs.push(job));
        await queue.enqueue({ ...turn('a'), turnId: null });
        await eventually(() => expect(jobs).toEqual([{ ...turn('a'), turnId: null }]));
        await queue.enqueue({ ...turn('b'), traceparent: TRACEPARENT });
        await eventually(() => expect(jobs[1]).toEqual({ ...turn('b'), traceparent: TRACEPARENT }));
        await queue.enqueue({ kind: 'extraction', tenantId: 'ünï:cødé', userId: 'a:b/c d' });
        await eventually(() =>
          expect(jobs[2]).toEqual({ kind: 'extraction', tenantId: 'ünï:cødé', userId: 'a:b/c d' }),
        );
      });

      test('gives each job to one consumer only, and each kind to its own', async () => {
        const taken: string[] = [];
        for (const [index, from] of [queue, harness.peer, queue].entries()) {
          from.consume('turn', 2, async (job) => void taken.push(`${job.sessionId} ${index}`));
        }
        const users: string[] = [];
        queue.consume('extraction', 1, async (job) => void users.push(job.userId));
        const sessions = Array.from({ length: 60 }, (_, index) => `s${index}`);
        await Promise.all(sessions.map((session) => queue.enqueue(turn(session))));
        await queue.enqueue(extraction('u'));
        await eventually(() => expect(users).toEqual(['u']));
        await eventually(async () => expect((await queue.counts('turn')).completed).toBe(sessions.length));
        expect(taken.map((line) => line.split(' ')[0]).toSorted()).toEqual(sessions.toSorted());
      });

      test('runs 1,000 jobs, never more than the concurrency at once', async () => {
        let running = 0;
        let most = 0;
        const done = new Set<string>();
        queue.consume('turn', 10, async (job) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          done.add(job.sessionId);
        });
        await Promise.all(Array.from({ length: 1_000 }, (_, index) => queue.enqueue(turn(`s${index}`))));
        await eventually(() => expect(done.size).toBe(1_000), 15_000);
        expect(most).toBe(10);
      });
    });

    describe('the same job', () => {
      test('is not added again while it waits', async () => {
        await queue.enqueue(turn('a'));
        await harness.peer.enqueue({ ...turn('a'), turnId: 'turn_other' });
        await queue.enqueue(turn('a'), { delayMs: 1_000 });
        expect(await queue.counts('turn')).toMatchObject({ waiting: 1, delayed: 0 });
        const seen = collect();
        await eventually(async () => expect((await queue.counts('turn')).completed).toBe(1));
        await harness.advance(1_500);
        expect(seen.jobs).toHaveLength(1);
      });

      test('is another one for another session, tenant or kind', async () => {
        await queue.enqueue(turn('a'));
        await queue.enqueue(turn('b'));
        await queue.enqueue(turn('a', 'other'));
        await queue.enqueue(extraction('a'));
        expect((await queue.counts('turn')).waiting).toBe(3);
        expect((await queue.counts('extraction')).waiting).toBe(1);
      });

      test('is added again while it runs, and runs again', async () => {
        const first = gate();
        let runs = 0;
        queue.consume('turn', 1, async () => {
          runs += 1;
          if (runs === 1) await first.opened;
        });
        await queue.enqueue(turn('a'));
        await eventually(() => expect(runs).toBe(1));
        await queue.enqueue(turn('a'));
        await queue.enqueue(turn('a'));
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ active: 1, waiting: 1 }));
        first.open();
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ completed: 2, waiting: 0 }));
        expect(runs).toBe(2);
      });

      test('waits no longer once it is enqueued without a delay', async () => {
        const seen = collect();
        await queue.enqueue(turn('a'), { delayMs: 60_000 });
        expect(await queue.counts('turn')).toMatchObject({ waiting: 0, delayed: 1 });
        await harness.peer.enqueue(turn('a'));
        await eventually(() => expect(seen.jobs).toHaveLength(1));
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ delayed: 0, completed: 1 }));
      });

      test('is not added again while it waits for its next attempt, which then comes at once', async () => {
        const attempts: number[] = [];
        queue.consume('turn', 1, async (_job, { attempt }) => {
          attempts.push(attempt);
          if (attempt < 3) throw new Error('not yet');
        });
        await queue.enqueue(turn('a'));
        for (const failures of [1, 2]) {
          await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ delayed: 1, active: 0 }));
          expect(attempts).toHaveLength(failures);
          await queue.enqueue(turn('a'));
        }
        await eventually(() => expect(attempts).toEqual([1, 2, 3]));
        await eventually(async () =>
          expect(await queue.counts('turn')).toMatchObject({ waiting: 0, delayed: 0, completed: 1 }),
        );
      });
    });

    describe('delays', () => {
      test('holds a job back for as long as was asked', async () => {
        const seen = collect();
        await queue.enqueue(turn('late'), { delayMs: 400 });
        await queue.enqueue(turn('early'), { delayMs: 200 });
        await harness.advance(100);
        expect(seen.jobs).toEqual([]);
        expect((await queue.counts('turn')).delayed).toBe(2);
        await harness.advance(150);
        await eventually(() => expect(seen.jobs).toEqual([turn('early')]));
        await harness.advance(200);
        await eventually(() => expect(seen.jobs).toEqual([turn('early'), turn('late')]));
      });

      test('tries a failed job again, with growing delays, and tells the last attempt', async () => {
        const runs: JobRun[] = [];
        queue.consume('turn', 1, async (_job, run) => {
          runs.push(run);
          throw new Error(`attempt ${run.attempt}`);
        });
        await queue.enqueue(turn('a'));
        const waits: number[] = [];
        while (runs.at(-1)?.last !== true) {
          const before = runs.length;
          await eventually(async () => expect((await queue.counts('turn')).delayed).toBe(1));
          waits.push(await waitFor(() => runs.length > before));
        }
        expect(runs.map(({ attempt }) => attempt)).toEqual(runs.map((_, index) => index + 1));
        expect(runs.length).toBeGreaterThanOrEqual(3);
        expect(waits.at(-1)).toBeGreaterThan((waits[0] ?? 0) * 1.5);
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ failed: 1, delayed: 0 }));
        await harness.advance(RETRY_MS);
        expect(runs.at(-1)).toMatchObject({ attempt: runs.length, last: true });
      });

      test('a handler that throws at once fails as one that rejects', async () => {
        let calls = 0;
        queue.consume('turn', 1, () => {
          calls += 1;
          if (calls === 1) throw new Error('at once');
          return Promise.resolve();
        });
        await queue.enqueue(turn('a'));
        await eventually(() => expect(calls).toBe(1));
        await harness.advance(RETRY_MS);
        await eventually(async () => expect((await queue.counts('turn')).completed).toBe(1));
        expect(calls).toBe(2);
      });

      /** In ms of the queue's time, in steps of 20. */
      async function waitFor(condition: () => boolean): Promise<number> {
        let waited = 0;
        for (; !condition(); waited += 20) {
          expect(waited).toBeLessThan(RETRY_MS);
          await harness.advance(20);
        }
        return waited;
      }
    });

    describe('the board', () => {
      test('counts, lists and shows jobs in each state', async () => {
        const busy = gate();
        await queue.enqueue(turn('running'));
        const consumer = queue.consume('turn', 1, () => busy.opened);
        await eventually(async () => expect((await queue.counts('turn')).active).toBe(1));
        await queue.enqueue(turn('w1'));
        await queue.enqueue(turn('w2'));
        await queue.enqueue(turn('w3'));
        await queue.enqueue(turn('later'), { delayMs: 60_000 });
        expect(await queue.counts('turn')).toEqual({ waiting: 3, active: 1, delayed: 1, completed: 0, failed: 0 });

        const all = { offset: 0, limit: 10 };
        const waiting = await queue.list('turn', 'waiting', all);
        expect(waiting.map(({ job }) => job)).toEqual([turn('w3'), turn('w2'), turn('w1')]);
        expect(await queue.list('turn', 'waiting', { offset: 1, limit: 1 })).toEqual([waiting[1]]);
        expect(waiting[0]).toMatchObject({ state: 'waiting', attempts: 0, error: null, finishedAt: null });
        expect(waiting[0]?.createdAt).toBeGreaterThan(0);
        const [active] = await queue.list('turn', 'active', all);
        expect(active).toMatchObject({ job: turn('running'), state: 'active', finishedAt: null });
        expect(await queue.get('turn', active!.id)).toEqual(active);
        const [delayed] = await queue.list('turn', 'delayed', all);
        expect(await queue.get('turn', delayed!.id)).toMatchObject({ job: turn('later'), state: 'delayed' });
        expect(new Set([...waiting, active, delayed].map((record) => record?.id)).size).toBe(5);

        const closing = consumer.close(1_000);
        busy.open();
        await closing;
        const record = await eventually(async () => {
          const ended = await queue.get('turn', active!.id);
          expect(ended?.state).toBe('completed');
          return ended!;
        });
        expect(record).toMatchObject({ job: turn('running'), attempts: 1, error: null });
        expect(record.finishedAt).toBeGreaterThanOrEqual(record.createdAt);
        expect(await queue.list('turn', 'completed', all)).toEqual([record]);
        expect(await queue.get('extraction', record.id)).toBeNull();
        expect(await queue.counts('turn')).toMatchObject({ waiting: 3, active: 0, completed: 1 });
      });

      test('knows no job of another kind and no unknown id', async () => {
        await queue.enqueue(turn('a'));
        const [record] = await queue.list('turn', 'waiting', { offset: 0, limit: 1 });
        expect(await queue.get('turn', record!.id)).toEqual(record);
        expect(await queue.get('extraction', record!.id)).toBeNull();
        for (const id of ['', '0', 'no such job', '999999999']) {
          expect(await queue.get('turn', id)).toBeNull();
          expect(await queue.retry('turn', id)).toBe(false);
        }
      });

      test('keeps a failed job and lets it wait again', async () => {
        let broken = true;
        let runs = 0;
        queue.consume('turn', 1, async () => {
          runs += 1;
          if (broken) throw new Error('the store is away');
        });
        await queue.enqueue(turn('a'));
        await eventually(async () => {
          await harness.advance(200);
          expect((await queue.counts('turn')).failed).toBe(1);
        }, 15_000);
        const [failed] = await queue.list('turn', 'failed', { offset: 0, limit: 10 });
        expect(failed).toMatchObject({ job: turn('a'), state: 'failed', attempts: runs, error: 'the store is away' });
        expect(failed?.finishedAt).toBeGreaterThanOrEqual(failed?.createdAt ?? Infinity);

        broken = false;
        expect(await queue.retry('turn', failed!.id)).toBe(true);
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ failed: 0, completed: 1 }));
        expect(await queue.retry('turn', failed!.id)).toBe(false);
      });
    });

    describe('closing a consumer', () => {
      test('takes no more jobs and waits for those that run', async () => {
        const busy = gate();
        const started: string[] = [];
        const consumer = queue.consume('turn', 2, async (job) => {
          started.push(job.sessionId);
          await busy.opened;
        });
        await queue.enqueue(turn('a'));
        await eventually(() => expect(started).toEqual(['a']));
        let closed = false;
        const closing = consumer.close(60_000).then(() => {
          closed = true;
        });
        await queue.enqueue(turn('b'));
        await harness.advance(50);
        expect(closed).toBe(false);
        busy.open();
        await closing;
        expect(started).toEqual(['a']);
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ waiting: 1, completed: 1 }));
        const seen = collect();
        await eventually(() => expect(seen.jobs).toEqual([turn('b')]));
      });

      test('waits no longer than its grace', async () => {
        let started = false;
        const consumer = queue.consume('turn', 1, () => {
          started = true;
          return never();
        });
        await queue.enqueue(turn('a'));
        await eventually(() => expect(started).toBe(true));
        let closed = false;
        const closing = consumer.close(300).then(() => {
          closed = true;
        });
        await harness.advance(100);
        expect(closed).toBe(false);
        await harness.advance(400);
        await closing;
      });

      test('is done at once when nothing runs', async () => {
        await queue.consume('turn', 1, never).close(60_000);
      });
    });

    describe('after the death of the process', () => {
      test('has what waited, in order, and what ran', async () => {
        const started: string[] = [];
        queue.consume('turn', 2, (job) => {
          started.push(job.sessionId);
          return never();
        });
        for (const session of ['r1', 'r2', 'w1', 'w2']) await queue.enqueue(turn(session));
        await queue.enqueue(turn('r1'));
        await eventually(() => expect(started.toSorted()).toEqual(['r1', 'r2']));
        const next = await harness.crash();
        const seen = collect(next, 1);
        await eventually(() => {
          expect(new Set(seen.jobs.map(({ sessionId }) => sessionId))).toEqual(new Set(['r1', 'r2', 'w1', 'w2']));
        }, 35_000);
        const waited = seen.jobs.map(({ sessionId }) => sessionId).filter((session) => session.startsWith('w'));
        expect(waited).toEqual(['w1', 'w2']);
      }, 40_000);

      test('still holds back what was delayed, and counts failed attempts on', async () => {
        queue.consume('turn', 1, async () => {
          throw new Error('down');
        });
        await queue.enqueue(turn('failing'));
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ delayed: 1, active: 0 }));
        await queue.enqueue(turn('later'), { delayMs: RETRY_MS });
        const next = await harness.crash();
        expect(await next.counts('turn')).toMatchObject({ delayed: 2 });
        const seen = collect(next);
        await harness.advance(1_000);
        await eventually(() => expect(seen.jobs).toEqual([turn('failing')]));
        expect(seen.runs[0]?.attempt).toBe(2);
        await harness.advance(RETRY_MS);
        await eventually(() => expect(seen.jobs).toEqual([turn('failing'), turn('later')]));
      });

      test('runs nothing again that had ended', async () => {
        const seen = collect();
        await queue.enqueue(turn('a'));
        await eventually(async () => expect((await queue.counts('turn')).completed).toBe(1));
        const next = await harness.crash();
        const again = collect(next);
        await next.enqueue(turn('b'));
        await eventually(() => expect(again.jobs).toEqual([turn('b')]));
        expect(seen.jobs).toEqual([turn('a')]);
        await eventually(async () => expect((await next.counts('turn')).completed).toBe(2));
      });
    });

    test('answers a ping, and nothing more once it is closed', async () => {
      await queue.ping();
      await queue.close();
      await expect(queue.enqueue(turn('a'))).rejects.toMatchObject({ code: 'unavailable' });
      await expect(queue.ping()).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}
