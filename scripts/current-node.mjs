// Brings a Node that runs TypeScript, where the machine's own is too old for that.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, runNpm } from './dependencies.mjs';

const version = '26.10.0';

/** 24.12 is the first that strips types without a warning. */
export function isCurrentNode(candidate) {
  const [major, minor] = candidate.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 12);
}

/**
 * The path of a current Node, installed at the first call. It is the package that npm's `node` installs for a platform,
 * taken directly: so there is no install script, which newer npm versions block. It has a folder of its own, where
 * `npm install` in the repository does not prune it, and is linked as node_modules/.bin/node: npm puts that folder first
 * on the PATH of its scripts, so from the second start on the launcher itself runs on it.
 */
export function bringNode(root) {
  const home = join(root, 'node_modules/.node');
  const ready = join(home, 'ready');
  const name = `${process.platform}-${process.arch}` === 'darwin-arm64' ? 'node-bin' : 'node';
  const program = `${name}-${process.platform}-${process.arch}`;
  const node = join(home, 'node_modules', program, 'bin/node');
  // Written last of all: without it an installation was broken off, and is done anew.
  if (!existsSync(ready) || readFileSync(ready, 'utf8') !== version || !existsSync(node)) {
    console.error(`turnwire: this is Node ${process.versions.node}, bringing ${version} ...`);
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    const arguments_ = ['--prefix', home, '--no-save', '--no-package-lock', '--ignore-scripts'];
    const installed = runNpm(root, ['install', ...arguments_, `${program}@${version}`]);
    const check = installed ? spawnSync(node, ['--version'], { encoding: 'utf8' }) : undefined;
    if (check?.stdout?.trim() !== `v${version}`) fail('that failed; please install Node 24.12 or newer yourself');
    writeFileSync(ready, version);
  }
  linkNode(root, program);
  return node;
}

function linkNode(root, program) {
  const link = join(root, 'node_modules/.bin/node');
  if (existsSync(link)) return;
  rmSync(link, { force: true }); // a link that leads nowhere
  symlinkSync(join('../.node/node_modules', program, 'bin/node'), link);
}
