import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const MAIN = new URL('./main.ts', import.meta.url).pathname;

test('runs as a process of its own: prints its URL, answers, ends on SIGTERM', async () => {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, PORT: '0', PACE_MS: '0' }, stdio: 'pipe' });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  expect(line).toMatch(/not a language model/);
  const url = /http:\S+/.exec(line)?.[0];
  const body = JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hi' }] });
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', body });
  expect(await response.text()).toContain("Turnwire's demo model");
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('says what is wrong with its environment', async () => {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, PORT: 'http' }, stdio: 'pipe' });
  const [line] = await once(child.stderr.setEncoding('utf8'), 'data');
  expect(line).toBe("PORT must be a whole number, not 'http'\n");
  expect(await once(child, 'exit')).toEqual([1, null]);
});
