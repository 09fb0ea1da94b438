import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startModelServer } from '@turnwire/demo-model/server';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../stack/eventually.ts';

const MAIN = join(import.meta.dirname, '../../services/all-in-one/src/main.ts');
const KEY = 'first-key-0123456789';

interface Started {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  readonly stderr: () => string;
  readonly code: number | null;
}

const ROOT = join(import.meta.dirname, '../..');
const children: ChildProcess[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwire-start-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the all-in-one in a folder of its own; settles when it has said three lines or has ended. */
async function start(env: Record<string, string> = {}): Promise<Started> {
  const { PATH = '' } = process.env;
  return untilReady(spawn(process.execPath, [MAIN], { cwd: folder, env: { PATH, PORT: '0', ...env } }));
}

async function untilReady(child: ChildProcessWithoutNullStreams): Promise<Started> {
  children.push(child);
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const closed = once(child, 'close');
  const ready = new Promise<void>((resolve) => {
    child.stdout.on('data', (data) => {
      stdout += data;
      if (stdout.split('\n').length > 3) resolve();
    });
  });
  await Promise.race([ready, closed]);
  return { child, lines: stdout.trimEnd().split('\n'), stderr: () => stderr, code: child.exitCode };
}

async function stop({ child }: Started): Promise<number | null> {
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
  return child.exitCode;
}

/** Runs the third line as a shell would take it, and answers the events' types and what was said. */
async function paste(line: string, env: Record<string, string> = {}): Promise<{ types: string[]; text: string }> {
  const shell = spawn('sh', ['-c', line.replace(/^curl /, 'say ')], {
    env: { ...env, PATH: `${shimFolder()}${delimiter}${process.env['PATH']}`, SHIM_NODE: process.execPath },
  });
  let output = '';
  shell.stdout.on('data', (data) => {
    output += data;
  });
  await once(shell, 'close');
  const types = [...output.matchAll(/^event: (.*)$/gm)].map(([, type]) => type ?? '');
  const data = [...output.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''));
  return { types, text: data.map(({ text, step }) => (step === undefined ? '' : (text ?? ''))).join('') };
}

let shims: string | null = null;

/** A `say` that takes curl's arguments, so that the line is parsed by a real shell on machines without curl. */
function shimFolder(): string {
  if (shims !== null) return shims;
  shims = mkdtempSync(join(tmpdir(), 'turnwire-shim-'));
  const script = `#!/bin/sh\nexec "$SHIM_NODE" "${join(shims, 'say.mjs')}" "$@"\n`;
  writeFileSync(join(shims, 'say'), script, { mode: 0o755 });
  writeFileSync(
    join(shims, 'say.mjs'),
    `import { parseArgs } from 'node:util';
     const options = { N: { type: 'boolean', short: 'N' }, H: { type: 'string', short: 'H', multiple: true }, d: { type: 'string', short: 'd' } };
     const { values, positionals: [url] } = parseArgs({ options, allowPositionals: true });
     const headers = values.H.map((header) => header.split(/: (.*)/s).slice(0, 2));
     const response = await fetch(url, { method: 'POST', headers, body: values.d });
     process.stdout.write(await response.text());`,
  );
  return shims;
}

afterAll(() => {
  if (shims !== null) rmSync(shims, { recursive: true, force: true });
});

describe('npm start', () => {
  test('says three lines, of which the third is a turn that works, and stops in order', async () => {
    const started = await start();
    expect(started.lines).toHaveLength(3);
    const [ready, model, curl] = started.lines;
    const url = ready?.match(/^Turnwire is ready at (http:\/\/127\.0\.0\.1:\d+)$/)?.[1];
    expect(url).toBeDefined();
    expect(model).toMatch(/^Model: demo .*no language model; set OPENAI_API_KEY/);
    expect(curl).toContain(`curl -N ${url}/v1/sessions/ses_`);
    const { types, text } = await paste(curl ?? '');
    expect(types).toContain('tool.call');
    expect(types.at(-1)).toBe('done');
    expect(text).toContain('84');
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: 'ready', demo: true });
    expect(await stop(started)).toBe(0);
    for (const line of started.stderr().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
  });

  test('finds its session again, and what was said in it', async () => {
    const first = await start();
    await paste(first.lines[2] ?? '');
    await stop(first);
    const second = await start();
    const session = (lines: readonly string[]) => lines[2]?.match(/ses_\w+/)?.[0];
    expect(session(second.lines)).toBe(session(first.lines));
    const url = second.lines[0]?.split(' ').at(-1);
    const messages = await fetch(`${url}/v1/sessions/${session(second.lines)}/messages`);
    expect(JSON.stringify(await messages.json())).toContain('What is the weather in Paris');
  });

  test('with keys names none of them, and the line takes one from the shell', async () => {
    const started = await start({ API_KEYS: `${KEY}:acme:admin` });
    expect(started.lines.join('\n')).not.toContain(KEY);
    const { types } = await paste(started.lines[2] ?? '', { TURNWIRE_API_KEY: KEY });
    expect(types.at(-1)).toBe('done');
    expect(started.stderr()).not.toContain(KEY);
  });

  test('names the model that is configured, without a login, and uses it', async () => {
    const model = await startModelServer({ fallback: (_call, reply) => reply.text('Hello from afar.') });
    const started = await start({ OPENAI_BASE_URL: `${model.url}?key=in-the-url`, OPENAI_MODEL: 'far-model' });
    expect(started.lines[1]).toBe(`Model: far-model at ${model.url}`);
    expect((await paste(started.lines[2] ?? '')).text).toBe('Hello from afar.');
    expect(model.requests[0]).toMatchObject({ model: 'far-model' });
    await model.close();
  });

  test('reads a .env file, which variables that are set win over', async () => {
    writeFileSync(join(folder, '.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_MODEL=from-file\n');
    const started = await start({ OPENAI_MODEL: 'from-shell' });
    expect(started.lines[1]).toBe('Model: from-shell at http://127.0.0.1:9/v1');
  });

  test('says what to change where its port is taken', async () => {
    const taken = createServer();
    await once(taken.listen(0, '127.0.0.1'), 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, lines, stderr } = await start({ PORT: String(port) });
    taken.close();
    expect({ code, lines }).toEqual({ code: 1, lines: [''] });
    expect(stderr()).toContain(`Port ${port} is in use by another program: stop that one, or set PORT`);
  });

  test('says all that is wrong with its configuration, and no more', async () => {
    const { code, stderr } = await start({ PORT: 'x', HOST: '0.0.0.0', API_KEYS: 'hush-hush-hush' });
    expect(code).toBe(1);
    expect(stderr()).toMatch(
      /^Turnwire cannot start\. The configuration has to be changed:\n {2}- PORT must .*\n {2}- API_KEYS entry 1/,
    );
    expect(stderr()).not.toMatch(/hush|at .*\.ts/);
  });
});

describe('npm, when it is killed,', () => {
  test.each(['SIGTERM', 'SIGKILL'] as const)('leaves no server behind when npm gets %s', async (signal) => {
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, PORT: '0', DATA_DIR: folder };
    const started = await untilReady(spawn('npm', ['start', '--silent'], { cwd: ROOT, env }));
    const url = started.lines[0]?.match(/http:\S+/)?.[0] ?? '';
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    started.child.kill(signal);
    await eventually(() => expect(fetch(`${url}/healthz`)).rejects.toThrow());
  });
});
