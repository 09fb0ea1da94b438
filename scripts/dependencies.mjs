// Brings node_modules to what package-lock.json says.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Costs about a millisecond when all is there: the lock file's hash is compared with the one of the last look. */
export function installDependencies(root) {
  const stamp = join(root, 'node_modules/.installed-lock');
  const hash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (readIfThere(stamp) === hash) return;
  if (!matchesLock(root)) {
    console.error('turnwire: installing dependencies ...');
    rmSync(stamp, { force: true });
    if (!runNpm(root, ['ci'])) fail('npm ci failed');
  }
  try {
    writeFileSync(stamp, hash);
  } catch {
    // node_modules may be read-only, as in an image: then every start compares the lock files, a few milliseconds
  }
}

/** Where the program `name` of node_modules/.bin really is. Development tools come when one is first asked for. */
export function toolPath(root, name) {
  const link = join(root, 'node_modules/.bin', name);
  if (!existsSync(link)) {
    const packages = Object.values(packagesOf(join(root, 'package-lock.json')));
    if (!packages.some(({ bin }) => bin?.[name])) fail(`no such tool: ${name}`);
    if (!runNpm(root, ['ci', '--include=dev'])) fail('npm ci failed');
  }
  return realpathSync(link);
}

export function runNpm(root, args) {
  const options = { cwd: root, stdio: ['ignore', 2, 2] };
  const quiet = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  const cli = process.env.npm_execpath ?? '';
  const useCli = basename(cli) === 'npm-cli.js' && existsSync(process.execPath);
  const npm = useCli
    ? spawnSync(process.execPath, [cli, ...args, ...quiet], options)
    : spawnSync('npm', [...args, ...quiet], options);
  return npm.status === 0;
}

export function fail(message) {
  console.error(`turnwire: ${message}`);
  process.exit(1);
}

/**
 * Whether npm itself has already installed this lock file, so that a developer's `npm install` is not done again.
 * npm writes its own copy of the lock into node_modules last of all: after a broken installation there is none.
 */
function matchesLock(root) {
  const installed = packagesOf(join(root, 'node_modules/.package-lock.json'));
  const wanted = packagesOf(join(root, 'package-lock.json'));
  if (installed === undefined || wanted === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true;
    const there = installed[path];
    // Optional packages are those of other platforms; development packages are absent in an image.
    if (there === undefined) return Boolean(entry.optional || entry.devOptional || entry.dev);
    return there.version === entry.version && there.integrity === entry.integrity;
  });
}

function packagesOf(file) {
  const text = readIfThere(file);
  return text === undefined ? undefined : JSON.parse(text).packages;
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
