import { EQUAL_SHARES, type FairShare, type Job, type JobQueue } from '@turnwire/shared/ports/job-queue';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../stack/eventually.ts';
import type { QueueHarness } from './describe-job-queue.ts';

function turn(tenantId: string, n: number): Extract<Job, { kind: 'turn' }> {
  return { kind: 'turn', tenantId, sessionId: `${tenantId}_${n}`, turnId: null };
}

async function enqueueAll(queue: JobQueue, tenantId: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await queue.enqueue(turn(tenantId, n));
}

/** The tenants of all jobs, in the order in which they start, one after the other. */
function orderOf(queue: JobQueue): string[] {
  const order: string[] = [];
  queue.consume('turn', 1, async ({ tenantId }) => void order.push(tenantId));
  return order;
}

/** Runs jobs that last until they are ended; keeps count. */
function hold(queue: JobQueue, concurrency: number) {
  const running: { readonly job: Extract<Job, { kind: 'turn' }>; end(): void }[] = [];
  const started: string[] = [];
  const consumer = queue.consume('turn', concurrency, async (job) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { job, end: resolve };
    running.push(entry);
    started.push(job.sessionId);
    await promise;
    running.splice(running.indexOf(entry), 1);
  });
  return { running, started, consumer };
}

/** How every job queue shares workers between tenants. */
export function describeFairShare(name: string, make: (share: FairShare) => Promise<QueueHarness>): void {
  async function withQueue(share: Partial<FairShare>, work: (harness: QueueHarness) => Promise<void>): Promise<void> {
    const harness = await make({ ...EQUAL_SHARES, ...share });
    try {
      await work(harness);
    } finally {
      await harness.close();
    }
  }

  describe(`the ${name} job queue, shared by tenants`, () => {
    test('lets one start among the next few, whatever another has in line', async () => {
      await withQueue({}, async ({ queue, peer }) => {
        await enqueueAll(queue, 'flood', 300);
        await enqueueAll(peer, 'late', 3);
        expect(await queue.counts('turn')).toMatchObject({ waiting: 303 });
        const order = orderOf(peer);
        await eventually(() => expect(order).toHaveLength(303), 20_000);
        expect(order.lastIndexOf('late')).toBeLessThan(10);
      });
    });

    test('keeps the order of each, and forgets what is over', async () => {
      await withQueue({}, async ({ queue, peer }) => {
        const first = hold(peer, 1);
        await enqueueAll(queue, 'a', 4);
        await eventually(() => expect(first.running).toHaveLength(1));
        await enqueueAll(queue, 'b', 2);
        for (let n = 1; n <= 6; n += 1) {
          await eventually(() => expect(first.started).toHaveLength(n));
          first.running[0]?.end();
        }
        expect(first.started.filter((session) => session.startsWith('a'))).toEqual(['a_0', 'a_1', 'a_2', 'a_3']);
        expect(first.started.filter((session) => session.startsWith('b'))).toEqual(['b_0', 'b_1']);
        await eventually(async () => expect(await queue.counts('turn')).toMatchObject({ waiting: 0, active: 0 }));
      });
    });

    test('gives by weight', async () => {
      await withQueue({ weightOf: (tenantId) => (tenantId === 'big' ? 3 : 1) }, async ({ queue, peer }) => {
        await enqueueAll(queue, 'big', 80);
        await enqueueAll(queue, 'small', 80);
        const order = orderOf(peer);
        await eventually(() => expect(order.length).toBeGreaterThanOrEqual(80), 20_000);
        const share = order.slice(0, 80).filter((tenantId) => tenantId === 'big').length;
        expect(share).toBeGreaterThanOrEqual(56);
        expect(share).toBeLessThanOrEqual(64);
      });
    });

    test('shows all that wait, and each of them', async () => {
      await withQueue({}, async ({ queue }) => {
        await enqueueAll(queue, 'a', 3);
        await enqueueAll(queue, 'b', 2);
        const shown = await queue.list('turn', 'waiting', { offset: 0, limit: 10 });
        expect(shown.map(({ job }) => job.kind === 'turn' && job.sessionId)).toEqual([
          'b_1',
          'b_0',
          'a_2',
          'a_1',
          'a_0',
        ]);
        for (const record of shown) expect(await queue.get('turn', record.id)).toEqual(record);
        const page = await queue.list('turn', 'waiting', { offset: 1, limit: 2 });
        expect(page).toEqual(shown.slice(1, 3));
      });
    });

    test('runs no more of a tenant at once than it may, and all of them in the end', async () => {
      await withQueue({ maxRunning: 2 }, async ({ queue, peer }) => {
        const workers = new Set([queue, peer])
          .values()
          .map((process) => hold(process, 5))
          .toArray();
        const running = () => workers.flatMap((worker) => worker.running);
        const of = (tenantId: string) => running().filter(({ job }) => job.tenantId === tenantId);
        await enqueueAll(queue, 'busy', 8);
        await enqueueAll(queue, 'calm', 1);
        const ended = new Set<string>();
        for (let n = 0; n < 8; n += 1) {
          await eventually(() => expect(of('busy').length).toBe(Math.min(2, 8 - n)), 5_000);
          if (n === 0) await eventually(() => expect(of('calm')).toHaveLength(1));
          const [next] = of('busy');
          ended.add(next?.job.sessionId ?? '');
          next?.end();
        }
        expect(ended.size).toBe(8);
        of('calm')[0]?.end();
        await eventually(async () => {
          expect(await queue.counts('turn')).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 0 });
        });
      });
    }, 30_000);

    test('gives the slots of one who fails to the next', async () => {
      await withQueue({ maxRunning: 1 }, async ({ queue }) => {
        let fails = true;
        const seen: string[] = [];
        queue.consume('turn', 5, async ({ sessionId }) => {
          seen.push(sessionId);
          if (fails) {
            fails = false;
            throw new Error('not today');
          }
        });
        await enqueueAll(queue, 'a', 3);
        await eventually(() => expect(new Set(seen)).toEqual(new Set(['a_0', 'a_1', 'a_2'])), 10_000);
      });
    });
  });
}
