import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const shared = join(import.meta.dirname, '..');

/** A process that stops as `stop` says, and runs `then` once it is ready. */
async function run(
  stop: string,
  then = '',
  deadlineMs = 60_000,
): Promise<{ child: ChildProcess; output: () => string }> {
  const source = `
    import { installShutdown } from ${JSON.stringify(join(shared, 'runtime/shutdown.ts'))};
    import { createSystemClock } from ${JSON.stringify(join(shared, 'adapters/system/clock.ts'))};
    const say = (fields, text) => process.stdout.write(text + '\\n');
    const log = { debug: say, info: say, warn: say, error: say };
    const clock = createSystemClock();
    const work = setInterval(() => {}, 1000);
    installShutdown({ stop: ${stop}, deadlineMs: ${deadlineMs}, clock, log });
    process.stdout.write('ready\\n');
    ${then}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (data) => {
    output += data;
  });
  while (!output.includes('ready')) await once(child.stdout ?? child, 'data');
  return { child, output: () => output };
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [code] = child.exitCode === null ? await once(child, 'close') : [child.exitCode];
  return code;
}

describe('a process that is asked to stop', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('by %s stops in order', async (signal) => {
    const { child, output } = await run("async () => { await clock.sleep(50); say({}, 'closed'); }");
    child.kill(signal);
    expect(await exitOf(child)).toBe(0);
    expect(output()).toContain('closed');
  });

  test('twice ends at once', async () => {
    const { child, output } = await run('() => clock.sleep(60_000)');
    child.kill('SIGTERM');
    while (!output().includes('Stopping: no new work')) await once(child.stdout ?? child, 'data');
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(1);
    expect(output()).toContain('A second signal came');
  });

  test('and does not manage ends at its deadline', async () => {
    const { child, output } = await run('() => clock.sleep(60_000)', '', 100);
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(1);
    expect(output()).toContain('Stopping took too long');
  });

  test('and fails at it says so', async () => {
    const { child, output } = await run("async () => { throw new Error('stuck'); }");
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(1);
    expect(output()).toContain('nobody handled');
  });
});

test.each(["Promise.reject(new Error('lost'));", "setTimeout(() => { throw new Error('lost'); }, 1);"])(
  'an error that nobody handles is logged and ends the process: %s',
  async (fault) => {
    const { child, output } = await run('async () => {}', fault);
    expect(await exitOf(child)).toBe(1);
    expect(output()).toContain('An error that nobody handled ends the process.');
  },
);
