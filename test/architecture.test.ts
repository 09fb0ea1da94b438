import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkModule } from './stack/import-rules.ts';

const root = join(import.meta.dirname, '..');

describe('the product', () => {
  const modules = globSync('{packages,services}/*/src/**/*.ts', { cwd: root }).map((file) => file.split(sep).join('/'));

  test('keeps the layers', () => {
    const verdicts = modules.map((file) => {
      const isTest = file.endsWith('.test.ts'); // may import whatever it tests with
      return isTest ? { offences: [], imports: 0 } : checkModule(file, readFileSync(join(root, file), 'utf8'));
    });
    expect(verdicts.flatMap(({ offences }) => offences)).toEqual([]);
    // A check that looks at nothing passes as well: so count.
    expect(verdicts.length).toBeGreaterThanOrEqual(Math.max(50, countSources()));
    expect(verdicts.reduce((sum, { imports }) => sum + imports, 0)).toBeGreaterThan(modules.length);
  });

  test('names its files for what they export', () => {
    const vague = /^(utils?|helpers?|common|types|misc|index)(\.test)?\.ts$/;
    expect(modules.filter((file) => vague.test(basename(file)))).toEqual([]);
  });
});

test('docs/ARCHITECTURE.md names files that exist', () => {
  const page = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8');
  const named = [...page.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path);
  const places = ['', 'services', 'packages/shared/src', 'packages/shared/src/adapters', 'packages/shared/src/runtime'];
  const missing = named.filter((path) => !places.some((place) => existsSync(join(root, place, path))));
  expect(named.length).toBeGreaterThan(30);
  expect(missing.filter((path) => path !== 'main.ts' && path !== 'run-turn.ts')).toEqual([]);
});

/** The .ts files of all packages, found another way than by the glob. */
function countSources(): number {
  return ['packages', 'services']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
    .map((file) => file.split(sep))
    .filter((path) => path[1] === 'src' && path.at(-1)?.endsWith('.ts')).length;
}

describe('the import rules', () => {
  const shared = 'packages/shared/src';

  test.each([
    // layers
    ['domain → ports', `${shared}/domain/a.ts`, "import { clock } from '../ports/clock.ts';"],
    ['domain → ports, a type', `${shared}/domain/a.ts`, "import type { Clock } from '../ports/clock.ts';"],
    ['domain → ports, an import type', `${shared}/domain/a.ts`, "type A = import('../ports/clock.ts').Clock;"],
    ['domain → ports, by name', `${shared}/domain/a.ts`, "export { x } from '@turnwire/shared/ports/clock';"],
    ['domain → a package', `${shared}/domain/a.ts`, "import { z } from 'zod';"],
    ['domain → a built-in', `${shared}/domain/a.ts`, "import { readFileSync } from 'node:fs';"],
    ['domain → a built-in without node:', `${shared}/domain/a.ts`, "import { connect } from 'net';"],
    ['contracts → ports', `${shared}/contracts/a.ts`, "export * from '../ports/store.ts';"],
    ['contracts → a package', `${shared}/contracts/a.ts`, "import pino from 'pino';"],
    ['ports → adapters', `${shared}/ports/a.ts`, "import { open } from '../adapters/sqlite/open.ts';"],
    ['recall → adapters', `${shared}/recall/a.ts`, "import { open } from '../adapters/sqlite/open.ts';"],
    ['recall → a package', `${shared}/recall/a.ts`, "import { embed } from 'some-embedder';"],
    ['adapter → another', `${shared}/adapters/bullmq/a.ts`, "import { open } from '../sqlite/open.ts';"],
    ['adapter → runtime', `${shared}/adapters/sqlite/a.ts`, "await import('../../runtime/config.ts');"],
    ['runtime → testing', `${shared}/runtime/a.ts`, "import { x } from '../testing/x.ts';"],
    ['service → adapters', 'services/gateway/src/a.ts', "import { x } from '@turnwire/shared/adapters/sqlite/x';"],
    ['service → runtime', 'services/gateway/src/app.ts', "import { x } from '@turnwire/shared/runtime/x';"],
    ['service → testing', 'services/gateway/src/main.ts', "import { x } from '@turnwire/shared/testing/x';"],
    ['service → service', 'services/gateway/src/main.ts', "import { x } from '@turnwire/agent-worker/agent-worker';"],
    ['service → demo model', 'services/gateway/src/main.ts', "import { x } from '@turnwire/demo-model/server';"],
    ['all-in-one → by path', 'services/all-in-one/src/main.ts', "import { x } from '../../gateway/src/gateway.ts';"],
    ['service → shared by path', 'services/gateway/src/a.ts', "import '../../../packages/shared/src/domain/a.ts';"],
    ['demo model → shared', 'packages/demo-model/src/a.ts', "import { x } from '@turnwire/shared/domain/x';"],
    ['a folder in no layer', `${shared}/other/a.ts`, 'export const a = 1;'],
    ['a file in no folder', `${shared}/a.ts`, 'export const a = 1;'],
    // drivers
    ['driver in a service', 'services/gateway/src/a.ts', "import type OpenAI from 'openai';"],
    ['a part of a driver', 'services/agent-worker/src/a.ts', "import { x } from 'openai/streaming';"],
    ['driver in runtime', `${shared}/runtime/a.ts`, "import { DatabaseSync } from 'node:sqlite';"],
    ['driver of another', `${shared}/adapters/sqlite/a.ts`, "import { Queue } from 'bullmq';"],
    ['a scoped driver', 'services/gateway/src/a.ts', "import { connect } from '@nats-io/transport-node';"],
    ['driver by require', 'services/gateway/src/a.ts', "const redis = require('ioredis');"],
    ['an unknown import', 'services/gateway/src/a.ts', 'export const load = (name: string) => import(name);'],
    // time, ids and randomness
    ['Date.now', `${shared}/domain/a.ts`, 'export const a = Date.now();'],
    ['Date.now as a value', `${shared}/recall/a.ts`, 'export const now = globalThis.Date.now;'],
    ['new Date()', `${shared}/contracts/a.ts`, 'export const a = new Date().toISOString();'],
    ['Math.random', 'services/memory-worker/src/extraction/a.ts', "export const a = Math['random']();"],
    ['setTimeout', 'services/agent-worker/src/react/a.ts', 'export const a = () => setTimeout(() => {}, 5);'],
    ['setInterval', 'services/agent-worker/src/a.ts', 'export const a = { tick: globalThis.setInterval };'],
    ['a timeout signal', 'services/agent-worker/src/a.ts', 'export const a = AbortSignal.timeout(5);'],
    [
      'timers/promises',
      'services/agent-worker/src/a.ts',
      "import { setTimeout as sleep } from 'node:timers/promises';",
    ],
    ['crypto.randomUUID', 'services/agent-worker/src/a.ts', 'export const a = crypto.randomUUID();'],
    ['randomUUID', 'services/agent-worker/src/a.ts', "import { randomUUID } from 'node:crypto';"],
    ['crypto as a whole', 'services/agent-worker/src/a.ts', "import * as c from 'node:crypto';"],
  ])('refuse %s', (_name, file, source) => {
    const { offences } = checkModule(file, `\n${source}`);
    expect(offences).toHaveLength(1);
    expect(offences[0]).toMatch(/^\S+:[12] /);
  });

  test.each([
    [`${shared}/domain/a.ts`, "import { b } from './b.ts'; export const at = (ms: number) => new Date(ms);"],
    [`${shared}/contracts/a.ts`, "import { z } from 'zod'; import type { Turn } from '../domain/turn.ts';"],
    [
      `${shared}/recall/a.ts`,
      "import { createHash } from 'node:crypto'; import type { Clock } from '../ports/clock.ts';",
    ],
    [`${shared}/adapters/nats/a.ts`, "import { connect } from '@nats-io/transport-node'; setTimeout(() => {}, 1);"],
    [`${shared}/runtime/a.ts`, "import { x } from '../adapters/sqlite/x.ts'; import pino from 'pino'; Date.now();"],
    [`${shared}/testing/a.ts`, "import { x } from '../runtime/x.ts'; import { test } from 'vitest';"],
    ['services/agent-worker/src/main.ts', "import { x } from '@turnwire/shared/runtime/x'; setInterval(() => {}, 1);"],
    [
      'services/agent-worker/src/a.ts',
      'export const f = (clock: C) => clock.setTimeout({ setTimeout: clock.Date.now() });',
    ],
    [`${shared}/runtime/load-hooks.ts`, 'export const load = (name: string) => import(name);'],
    ['services/all-in-one/src/main.ts', "import { x } from '@turnwire/gateway/gateway';"],
  ])('allow %s: %s', (file, source) => {
    expect(checkModule(file, source).offences).toEqual([]);
  });
});
