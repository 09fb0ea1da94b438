import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Gateway, type GatewayOptions, startGateway } from '@turnwire/gateway/gateway';
import { createBullMqQueue } from '@turnwire/shared/adapters/bullmq/job-queue';
import { unavailable } from '@turnwire/shared/domain/errors';
import type { Job, JobQueue } from '@turnwire/shared/ports/job-queue';
import { readConfiguration } from '@turnwire/shared/runtime/config';
import { type Adapters, openAdapters } from '@turnwire/shared/runtime/open-adapters';
import { realClock } from '@turnwire/shared/testing/real-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRedis } from '../stack/backends/redis.ts';
import { eventually } from '../stack/eventually.ts';

const redis = await findRedis('the job board on BullMQ');
const dataDir = mkdtempSync(join(tmpdir(), 'turnwire-board-'));
const configuration = readConfiguration({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
const adapters: Adapters = await openAdapters(configuration, { baseUrl: null, apiKey: null, name: 'scripted' });
afterAll(async () => {
  await adapters.close();
  await redis?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const KEYS = [
  { key: 'boss', tenantId: 'acme', role: 'admin' },
  { key: 'clerk', tenantId: 'acme', role: 'user' },
  { key: 'stranger', tenantId: 'other', role: 'admin' },
] as const;

const turn = (sessionId: string, tenantId = 'acme'): Job => ({ kind: 'turn', tenantId, sessionId, turnId: null });

function start(options: Partial<GatewayOptions>): Promise<Gateway> {
  const model = { label: 'scripted', demo: true };
  const place = { host: '127.0.0.1', port: 0 };
  return startGateway({
    ...adapters,
    model,
    apiKeys: [],
    metricsKey: null,
    toolsAllowStdio: false,
    ...place,
    ...options,
  });
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

async function call(gateway: Gateway, path: string, key?: string, method = 'GET'): Promise<Answer> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${gateway.url}/admin/queues${path}`, { method, headers });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

const openSqlite = () => adapters.queue;
const openBullMq = () =>
  createBullMqQueue({
    url: redis?.url ?? '',
    prefix: redis?.newPrefix() ?? '',
    clock: realClock,
    log: createRecordingLogger(),
  });

describe.each([
  ['SQLite', openSqlite, false],
  ['BullMQ', openBullMq, redis === null],
] as const)('the job board on %s', (_name, open, isMissing) => {
  describe.skipIf(isMissing)('over HTTP', () => {
    let queue: JobQueue;
    let gateway: Gateway;
    let broken = true;
    const gate = Promise.withResolvers<void>();

    beforeAll(async () => {
      queue = open();
      gateway = await start({ queue, apiKeys: KEYS });
      const failing = queue.consume('turn', 4, async (job) => {
        if (broken && job.sessionId.startsWith('bad')) throw new Error('The store is not available at the moment.');
        if (job.sessionId === 'busy') await gate.promise;
      });
      for (const session of ['good', 'bad1', 'bad2']) await queue.enqueue(turn(session));
      await queue.enqueue(turn('bad3', 'other'));
      await eventually(
        async () => expect(await queue.counts('turn')).toMatchObject({ completed: 1, failed: 3 }),
        15_000,
      );
      await failing.close(1_000);
      await queue.enqueue(turn('w1'));
      await queue.enqueue(turn('later'), { delayMs: 600_000 });
      await queue.enqueue({ kind: 'extraction', tenantId: 'acme', userId: 'ada/1' });
    });
    afterAll(async () => {
      gate.resolve();
      await gateway.close();
      await queue.close();
    });

    const list = async (status: string, key = 'boss', name = 'turn') => {
      const { body } = await call(gateway, `/api/queues?activeQueue=${name}&status=${status}&page=1`, key);
      return body.queues.find((each: { name: string }) => each.name === name);
    };
    const named = (listed: { jobs: { name: string }[] }) => listed.jobs.map(({ name }) => name);

    test('shows both queues with the states of jobs and how many there are', async () => {
      const { status, body } = await call(gateway, '/api/queues', 'boss');
      expect(status).toBe(200);
      expect(body.queues).toMatchObject([
        {
          name: 'turn',
          counts: { waiting: 1, active: 0, delayed: 1, completed: 1, failed: 3 },
          statuses: ['latest', 'waiting', 'active', 'delayed', 'completed', 'failed'],
          allowRetries: true,
          allowCompletedRetries: false,
        },
        { name: 'extraction', counts: { waiting: 1, failed: 0 } },
      ]);
    });

    test('shows jobs with their ids, attempts, errors and where they lead', async () => {
      expect(named(await list('waiting'))).toEqual(['w1']);
      expect(named(await list('delayed'))).toEqual(['later']);
      expect(named(await list('completed'))).toEqual(['good']);
      const failed = await list('failed');
      expect(named(failed).toSorted()).toEqual(['bad1', 'bad2']);
      expect(failed.jobs[0]).toMatchObject({
        attempts: 5,
        failedReason: 'The store is not available at the moment.',
        isFailed: true,
        stacktrace: [],
      });
      const [bad1] = failed.jobs.filter(({ name }: { name: string }) => name === 'bad1');
      expect(bad1).toMatchObject({
        data: { ...turn('bad1'), attempts: 5 },
        externalUrl: { href: '/v1/sessions/bad1' },
      });
      expect(await list('waiting', 'boss', 'extraction')).toMatchObject({
        jobs: [{ name: 'ada/1', externalUrl: { href: '/v1/memories?userId=ada%2F1' } }],
      });
      const one = await call(gateway, `/api/queues/turn/${bad1.id}`, 'boss');
      expect(one.body).toMatchObject({ status: 'failed', job: { id: bad1.id, name: 'bad1' } });
      expect((await call(gateway, '/api/queues/turn/424242', 'boss')).status).toBe(404);
    });

    test("shows no tenant another's jobs", async () => {
      expect(named(await list('failed', 'stranger'))).toEqual(['bad3']);
      expect(named(await list('waiting', 'stranger'))).toEqual([]);
      const [own] = (await list('failed')).jobs;
      expect((await call(gateway, `/api/queues/turn/${own.id}`, 'stranger')).status).toBe(404);
      expect((await call(gateway, `/api/queues/turn/${own.id}/retry`, 'stranger', 'PUT')).status).toBe(404);
      expect((await call(gateway, '/api/queues/turn/retry/failed', 'stranger', 'PUT')).body).toMatchObject({
        retried: 1,
      });
      expect(await queue.counts('turn')).toMatchObject({ failed: 2, waiting: 2 });
    });

    test('lets a failed job wait again, and only a failed one', async () => {
      const failed = await list('failed');
      const { id } = failed.jobs[0];
      expect((await call(gateway, `/api/queues/turn/${id}/retry`, 'boss', 'PUT')).status).toBe(204);
      expect(await queue.get('turn', id)).toMatchObject({ state: 'waiting' });
      expect((await call(gateway, `/api/queues/turn/${id}/retry`, 'boss', 'PUT')).status).toBe(400);
      const [completed] = (await list('completed')).jobs;
      expect(
        (await call(gateway, `/api/queues/turn/${completed.id}/retry`, 'boss', 'PUT')).status,
      ).toBeGreaterThanOrEqual(400);
      broken = false;
      const consumer = queue.consume('turn', 1, async () => {});
      await eventually(async () => expect((await queue.counts('turn')).waiting).toBe(0));
      await consumer.close(1_000);
      expect(await queue.get('turn', completed.id)).toMatchObject({ state: 'completed', attempts: 1 });
    });

    test('does nothing else to a queue', async () => {
      const before = await queue.counts('turn');
      const [job] = (await list('delayed')).jobs;
      const changes = [
        'pause',
        'resume',
        'turn/pause',
        'turn/empty',
        'turn/obliterate',
        'turn/promote',
        'turn/clean/completed',
        `turn/${job.id}/clean`,
        `turn/${job.id}/promote`,
      ];
      for (const change of changes) {
        expect([change, (await call(gateway, `/api/queues/${change}`, 'boss', 'PUT')).status]).toEqual([change, 405]);
      }
      expect((await call(gateway, '/api/queues/turn/add', 'boss', 'POST')).status).toBe(404);
      expect((await call(gateway, `/api/queues/turn/${job.id}/update-data`, 'boss', 'PATCH')).status).toBe(404);
      expect(await queue.counts('turn')).toEqual(before);
    });

    test('wants the key of an admin, which browsers may give as a password', async () => {
      const basic = (credentials: string) => ({
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
      });
      const board = `${gateway.url}/admin/queues`;
      const refused = await fetch(board);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toBe('Basic realm="turnwire", charset="UTF-8"');
      expect(await refused.json()).toMatchObject({ code: 'unauthorized' });
      expect((await fetch(board, { headers: basic('ada:boss') })).status).toBe(200);
      expect((await fetch(`${board}/api/queues`, { headers: basic(':boss') })).status).toBe(200);
      expect((await fetch(board, { headers: basic('boss:wrong') })).status).toBe(401);
      expect((await fetch(board, { headers: basic('ada:clerk') })).status).toBe(403);
      for (const path of ['/api/queues', '/static/favicon.ico', '/queue/turn']) {
        expect((await call(gateway, path)).status).toBe(401);
        expect((await call(gateway, path, 'clerk')).status).toBe(403);
      }
      // On this route only.
      expect((await fetch(`${gateway.url}/v1/agents`, { headers: basic('ada:boss') })).status).toBe(401);
      expect((await fetch(`${gateway.url}/v1/agents`)).headers.get('www-authenticate')).toMatch(/^Bearer/);
    });
  });
});

describe('the page of the job board', () => {
  test('comes with all that it needs, and with nothing from elsewhere', async () => {
    const gateway = await start({});
    const page = await call(gateway, '');
    expect(page.status).toBe(200);
    expect(page.headers.get('x-request-id')).toMatch(/^req_/);
    expect(page.body).not.toMatch(/https?:\/\//);
    const files = [...page.body.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) expect((await call(gateway, `/${file}`)).status).toBe(200);
    // Links into it work as well.
    expect((await call(gateway, '/queue/turn?status=failed')).body).toBe(page.body);
    expect((await call(gateway, '/')).body).toBe(page.body);
    expect((await call(gateway, '/nothing')).status).toBe(404);
    await gateway.close();
  });

  test('still has the parts by which the superfluous ones are hidden', () => {
    const root = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'));
    const files = readdirSync(join(root, 'dist/static/js'), { recursive: true, encoding: 'utf8' });
    const scripts = files
      .filter((file) => file.endsWith('.js'))
      .map((file) => readFileSync(join(root, 'dist/static/js', file), 'utf8'))
      .join('\n');
    const parts = ['jobActions-', 'queueActions-', 'statusTabs-', 'timeline-', '"refresh-cw"', 'ellipsis-vertical"'];
    for (const part of parts) expect(scripts).toContain(part);
  });

  test('says so when the queue is away', async () => {
    const away = async () => {
      throw unavailable('The job queue', new Error('gone'));
    };
    const gateway = await start({ queue: { ...adapters.queue, counts: away, list: away, get: away } });
    for (const path of ['/api/queues', '/api/queues/turn/1']) {
      expect(await call(gateway, path)).toMatchObject({
        status: 503,
        body: { message: 'The job queue is not available at the moment.' },
      });
    }
    await gateway.close();
  });

  test('is not part of the API description', async () => {
    const gateway = await start({});
    const { paths } = JSON.parse(await (await fetch(`${gateway.url}/openapi.json`)).text());
    expect(Object.keys(paths).filter((path) => path.startsWith('/admin'))).toEqual([]);
    await gateway.close();
  });
});
