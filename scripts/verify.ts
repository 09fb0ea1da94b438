// All checks, one line per stage; the first that fails is shown in full and ends it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const launcher = join(import.meta.dirname, 'launch.mjs');

const stages: Record<string, string[]> = {
  types: ['tsc', '-b'],
  lint: ['biome', 'check', '--error-on-warnings', '--diagnostic-level=warn'],
  'import rules': ['vitest', 'run', 'test/architecture.test.ts'],
  'dead code': ['knip'],
  tests: ['vitest', 'run'],
};

for (const [name, command] of Object.entries(stages)) {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, ...command], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (status !== 0) {
    console.log(`${stdout}${stderr}`.trimEnd());
    console.log(`${name}: failed after ${seconds} s`);
    process.exit(1);
  }
  const summary = command[0] === 'vitest' ? `, ${stdout.trimEnd().split('\n').at(-1)}` : '';
  console.log(`${name}: ok, ${seconds} s${summary}`);
}
