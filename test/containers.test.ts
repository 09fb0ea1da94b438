import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const serviceSchema = z.object({
  command: z.array(z.string()),
  restart: z.literal('unless-stopped'),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  healthcheck: z.object({ test: z.array(z.string()).min(2) }),
  deploy: z.object({
    replicas: z.number().default(1),
    resources: z.object({ limits: z.object({ cpus: z.string(), memory: z.string() }) }),
  }),
  logging: z.object({ options: z.object({ 'max-size': z.string() }) }),
  depends_on: z.record(z.string(), z.object({ condition: z.literal('service_healthy') })).default({}),
  container_name: z.undefined().optional(),
  ports: z.array(z.string()).default([]),
});

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml');
  // Health checks, limits, restarts and bounded logs for each; no name of a container, which could not be scaled.
  const { services } = z.object({ services: z.record(z.string(), serviceSchema) }).parse(parse(text, { merge: true }));
  const own = Object.entries(services).filter(([, { environment }]) => 'REDIS_URL' in environment);

  test('runs a gateway, two agent workers and a memory worker on three servers', () => {
    const counts = Object.entries(services).map(([name, { deploy }]) => [name, deploy.replicas]);
    expect(Object.fromEntries(counts)).toEqual({
      gateway: 1,
      'agent-worker': 2,
      'memory-worker': 1,
      redis: 1,
      nats: 1,
      mongo: 1,
    });
  });

  test('starts services that there are, once their servers are healthy', () => {
    for (const [name, { command, depends_on: servers }] of own) {
      expect(command).toEqual([name]);
      expect(existsSync(join(root, `services/${name}/src/main.ts`))).toBe(true);
      expect(read('docker/start.mjs')).toContain(`'${name}'`);
      expect(Object.keys(servers).sort()).toEqual(['mongo', 'nats', 'redis']);
    }
  });

  test('sets variables that there are', () => {
    const known = Object.keys(parseEnv(read('.env.example')));
    for (const [, { environment }] of own) expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
  });

  test('publishes the gateway alone, on this machine alone, and only with keys', () => {
    const published = Object.entries(services).filter(([, { ports }]) => ports.length > 0);
    expect(published.map(([name]) => name)).toEqual(['gateway']);
    expect(services['gateway']?.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
    expect(services['gateway']?.environment['API_KEYS']).toMatch(/^\$\{API_KEYS:\?/);
  });

  test('keeps what Redis has', () => {
    expect(services['redis']?.command.join(' ')).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/);
  });

  const hasDocker = spawnSync('docker', ['compose', 'version']).status === 0;
  if (!hasDocker) process.stderr.write('\n*** SKIPPED *** docker compose config: there is no docker on the PATH.\n\n');
  test.skipIf(!hasDocker)('is valid', () => {
    const env = { ...process.env, API_KEYS: 'key-0123456789:acme:admin' };
    const { status, stderr } = spawnSync('docker', ['compose', 'config', '-q'], { cwd: root, env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

test('the image runs the Node that the launcher brings', () => {
  const [, major] = /const version = '(\d+)\./.exec(read('scripts/current-node.mjs')) ?? [];
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(bases).toEqual([`node:${major}-slim`, `node:${major}-slim`]);
});

test('the image has the manifest of every workspace', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (\S+)\/package\.json /gm)].map(([, folder]) => folder);
  const lock = z.object({ packages: z.record(z.string(), z.unknown()) }).parse(JSON.parse(read('package-lock.json')));
  const workspaces = Object.keys(lock.packages).filter((path) => /^(packages|services)\//.test(path));
  expect(copied.sort()).toEqual(workspaces.filter((path) => !path.includes('node_modules')).sort());
});
