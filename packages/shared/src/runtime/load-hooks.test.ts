import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadHooks } from './load-hooks.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnwire-hooks-'));
afterAll(() => rmSync(folder, { recursive: true }));

function moduleOf(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

describe('hooks', () => {
  test('are none where no module is named', async () => {
    expect(await loadHooks(null)).toEqual({});
  });

  test('are the functions that the module exports under their names', async () => {
    const path = moduleOf(
      'hooks.mjs',
      'export function onError() {}\nexport const afterModel = 1;\nexport function other() {}',
    );
    expect(Object.keys(await loadHooks(path))).toEqual(['onError']);
  });

  test.each([
    ['absent.mjs', null, 'HOOKS_MODULE cannot be loaded'],
    ['broken.mjs', 'export const = 1;', 'HOOKS_MODULE cannot be loaded'],
    ['throws.mjs', 'throw new Error("no licence");', 'no licence'],
    ['empty.mjs', 'export const x = 1;', 'exports none of the hooks'],
  ])('refuse a start with %s', async (name, source, message) => {
    const path = source === null ? join(folder, name) : moduleOf(name, source);
    await expect(loadHooks(path)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
    });
  });
});
