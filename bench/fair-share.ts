// How long the second tenant waits for its turn to start while another has a thousand in line: `node bench/fair-share.ts`.
// The control is the same flood under one and the same tenant, where nothing but the order of acceptance counts.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBullMqQueue } from '@turnwire/shared/adapters/bullmq/job-queue';
import { openDatabase } from '@turnwire/shared/adapters/sqlite/database';
import { createSqliteJobQueue } from '@turnwire/shared/adapters/sqlite/job-queue';
import { allMigrations } from '@turnwire/shared/adapters/sqlite/migrations/all-migrations';
import { createSystemClock } from '@turnwire/shared/adapters/system/clock';
import { createSystemIds } from '@turnwire/shared/adapters/system/ids';
import type { JobQueue } from '@turnwire/shared/ports/job-queue';
import { createLogger, openLogStream } from '@turnwire/shared/runtime/logger';

const FLOOD = 1000;
const WORKERS = 16;
const TURN_MS = 5;
const ROUNDS = 5;

const clock = createSystemClock();
const ids = createSystemIds(clock);
const log = createLogger({ level: 'error', secrets: [] }, await openLogStream(false));

/** In ms: from when workers come to the second tenant's start. */
async function waitOf(queue: JobQueue, flood: number, floodTenant: string): Promise<number> {
  const run = ids.next('job');
  const started = Promise.withResolvers<number>();
  for (let n = 0; n < flood; n += 1) {
    await queue.enqueue({ kind: 'turn', tenantId: floodTenant, sessionId: `${run}_${n}`, turnId: null });
  }
  await queue.enqueue({ kind: 'turn', tenantId: 'second', sessionId: `second_${run}`, turnId: null });
  const before = performance.now();
  const consumer = queue.consume('turn', WORKERS, async ({ sessionId }) => {
    if (sessionId === `second_${run}`) started.resolve(performance.now());
    await sleep(TURN_MS);
  });
  const waited = (await started.promise) - before;
  for (let left = 1; left > 0; await sleep(10)) {
    const { waiting, active } = await queue.counts('turn');
    left = waiting + active;
  }
  await consumer.close(1000);
  return waited;
}

function median(values: readonly number[]): string {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]?.toFixed(1) ?? '';
}

async function measure(name: string, queue: JobQueue): Promise<void> {
  const waits = { alone: [] as number[], fair: [] as number[], control: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    waits.alone.push(await waitOf(queue, 0, 'first'));
    waits.fair.push(await waitOf(queue, FLOOD, 'first'));
    waits.control.push(await waitOf(queue, FLOOD, 'second'));
  }
  const [alone, fair, control] = [waits.alone, waits.fair, waits.control].map(median);
  process.stdout.write(`${name}: alone ${alone} ms, behind a flood ${fair} ms, without tenants ${control} ms\n`);
}

async function withRedis(work: (url: string) => Promise<void>): Promise<void> {
  const given = process.env.REDIS_URL;
  if (given) return work(given);
  if (spawnSync('redis-server', ['--version']).status !== 0) return;
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const address = probe.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  probe.close();
  const server = spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  });
  try {
    await sleep(500);
    await work(`redis://127.0.0.1:${port}`);
  } finally {
    server.kill('SIGKILL');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'turnwire-bench-'));
const database = openDatabase(folder, allMigrations);
process.stdout.write(
  `Median of ${ROUNDS}: wait for a start with ${WORKERS} workers, turns of ${TURN_MS} ms, ${FLOOD} in line\n`,
);
await measure('sqlite', createSqliteJobQueue({ database, clock, ids, log }));
await withRedis(async (url) => {
  const queue = createBullMqQueue({ url, prefix: ids.next('job'), clock, log });
  await measure('bullmq', queue);
  await queue.close();
});
database.close();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
