import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isAppError } from '../domain/errors.ts';
import { readConfiguration } from './config.ts';
import { environmentSchema } from './environment-schema.ts';

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfiguration(env);
  } catch (error) {
    if (!isAppError(error, 'invalid_request')) throw error;
    return error.message.split('\n').slice(1);
  }
  return [];
}

describe('the configuration', () => {
  test('has a default for everything', () => {
    expect(readConfiguration({})).toEqual({
      port: 3000,
      redisUrl: null,
      natsUrl: null,
      mongodbUrl: null,
      namespace: 'turnwire',
      healthPort: null,
      tenantMaxRunning: 0,
      tenantWeights: new Map(),
      host: '127.0.0.1',
      dataDir: './data',
      apiKeys: [],
      metricsKey: null,
      model: { apiKey: null, baseUrl: null, name: 'gpt-4o-mini' },
      embeddingModel: null,
      memoryModel: null,
      workerConcurrency: 256,
      leaseMs: 10_000,
      sweepMs: 2000,
      drainMs: 5000,
      eventRetentionMs: 86_400_000,
      toolsAllowPrivate: true,
      toolsAllowStdio: true,
      hooksModule: null,
      logLevel: 'info',
      production: false,
      tracesEndpoint: null,
    });
  });

  test('takes an empty or blank variable as not set', () => {
    const names = Object.keys(environmentSchema.shape);
    const empty = Object.fromEntries(names.map((name, index) => [name, index % 2 === 0 ? '' : '  ']));
    expect(readConfiguration(empty)).toEqual(readConfiguration({}));
  });

  test('reads keys with tenants and roles', () => {
    const { apiKeys } = readConfiguration({ API_KEYS: 'k-1:acme, k-2:acme:admin,k-3:other:user' });
    expect(apiKeys).toEqual([
      { key: 'k-1', tenantId: 'acme', role: 'user' },
      { key: 'k-2', tenantId: 'acme', role: 'admin' },
      { key: 'k-3', tenantId: 'other', role: 'user' },
    ]);
  });

  test('lets tools reach private addresses only on loopback without keys, unless told', () => {
    const allowed = (env: Record<string, string>) => readConfiguration(env).toolsAllowPrivate;
    expect(allowed({ HOST: '::1' })).toBe(true);
    expect(allowed({ API_KEYS: 'k-1:acme' })).toBe(false);
    expect(allowed({ API_KEYS: 'k-1:acme', HOST: '0.0.0.0' })).toBe(false);
    expect(allowed({ API_KEYS: 'k-1:acme', TOOLS_ALLOW_PRIVATE: 'true' })).toBe(true);
    expect(allowed({ TOOLS_ALLOW_PRIVATE: '0' })).toBe(false);
  });

  test('refuses an address that others reach where nobody needs a key', () => {
    for (const HOST of ['0.0.0.0', '::', '10.0.0.7', 'example.org', '127.0.0.1.example.org']) {
      expect(problemsOf({ HOST })).toEqual([expect.stringMatching(/HOST .* set API_KEYS/)]);
      expect(problemsOf({ HOST, API_KEYS: 'k-1:acme' })).toEqual([]);
    }
    for (const HOST of ['127.0.0.1', '127.8.9.10', 'localhost', '::1']) expect(problemsOf({ HOST })).toEqual([]);
  });

  test('takes each server by its own variable', () => {
    expect(readConfiguration({ REDIS_URL: 'rediss://:p@cache' })).toMatchObject({ redisUrl: 'rediss://:p@cache' });
    expect(readConfiguration({ NATS_URL: 'nats://a,nats://b' })).toMatchObject({ natsUrl: 'nats://a,nats://b' });
    const MONGODB_URL = 'mongodb+srv://cluster.example.org/app';
    expect(readConfiguration({ MONGODB_URL })).toMatchObject({ mongodbUrl: MONGODB_URL, redisUrl: null });
  });

  test('tells all mistakes at once, each with its variable', () => {
    const wrong: Record<string, string> = {
      PORT: '70000',
      HOST: 'a b',
      OPENAI_BASE_URL: 'localhost:8000/v1',
      WORKER_CONCURRENCY: '0',
      LEASE_MS: '1e4',
      SWEEP_MS: '-1',
      DRAIN_MS: '5 s',
      EVENT_RETENTION_HOURS: '0',
      TOOLS_ALLOW_PRIVATE: 'maybe',
      LOG_LEVEL: 'loud',
      REDIS_URL: 'cache:6379',
      NATS_URL: 'http://nats:4222',
      MONGODB_URL: 'mongo',
      NAMESPACE: 'a.b',
      HEALTH_PORT: 'yes',
      TENANT_MAX_RUNNING: '-1',
      TENANT_WEIGHTS: 'acme',
    };
    const problems = problemsOf(wrong);
    expect(problems).toHaveLength(Object.keys(wrong).length);
    for (const name of Object.keys(wrong)) {
      expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^ {2}- ${name} must (be|look like) `)));
    }
  });

  test.each([
    ['secret-key', 'entry 1 must look like key:tenant'],
    ['secret-key:', 'entry 1 must look like key:tenant'],
    ['secret-key:acme:root', 'entry 1 has an unknown role'],
    ['secret-key:acme:user:x', 'entry 1 must look like key:tenant'],
    ['secret-key:a b', 'entry 1 must look like key:tenant'],
    ['secret-key:acme,,x:acme', 'entry 2 must look like key:tenant'],
    ['secret-key:acme,secret-key:other', 'entry 2 repeats the key'],
  ])('never repeats a key that it refuses: %s', (API_KEYS, expected) => {
    const problems = problemsOf({ API_KEYS, OPENAI_BASE_URL: 'ftp://me:secret-key@host' });
    expect(problems).toContainEqual(expect.stringContaining(expected));
    expect(problems.join('\n')).not.toContain('secret-key');
  });
});

describe('.env.example', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../../.env.example'), 'utf8');

  test('lists every variable, and no other', () => {
    expect(Object.keys(parseEnv(text)).sort()).toEqual(Object.keys(environmentSchema.shape).sort());
  });

  test('shows the defaults', () => {
    expect(readConfiguration(parseEnv(text))).toEqual(readConfiguration({}));
    for (const [name, value] of Object.entries(environmentSchema.parse({}))) {
      const shown = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
      expect(text.split('\n')).toContain(`${name}=${shown}`);
    }
  });

  test('says something about each', () => {
    for (const paragraph of text.trim().split('\n\n')) expect(paragraph).toMatch(/^#/);
  });
});
