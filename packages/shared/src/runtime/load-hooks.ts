import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AppError } from '../domain/errors.ts';
import type { Hooks } from '../ports/hooks.ts';

const HOOK_NAMES = [
  'beforeSession',
  'afterSession',
  'beforeModel',
  'afterModel',
  'beforeToolUse',
  'afterToolUse',
  'onError',
] as const satisfies readonly (keyof Hooks)[];

/** Loads the operator's hooks from an ES module. Throws `invalid_request` when it cannot be loaded or exports none. */
export async function loadHooks(path: string | null): Promise<Hooks> {
  if (path === null) return {};
  const module = await importModule(path);
  const hooks = HOOK_NAMES.filter((name) => typeof module[name] === 'function');
  if (hooks.length === 0) {
    throw new AppError('invalid_request', `HOOKS_MODULE exports none of the hooks: ${HOOK_NAMES.join(', ')}.`);
  }
  return Object.fromEntries(hooks.map((name) => [name, module[name]]));
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(resolve(path)).href);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('invalid_request', `HOOKS_MODULE cannot be loaded: ${reason}`, { cause });
  }
}
