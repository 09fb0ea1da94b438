// Starts an entry (a .ts file) or a tool (vitest, tsc, biome, ...) on a current Node, from nothing but a clone:
//
//   node scripts/launch.mjs <entry.ts | tool> [arguments]
//
// Plain JavaScript for Node 20 and newer, since it runs before anything is installed. All it says goes to stderr.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bringNode, isCurrentNode } from './current-node.mjs';
import { installDependencies, toolPath } from './dependencies.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const followMark = 'TURNWIRE_FOLLOWS_LAUNCHER';

async function launch([target, ...args]) {
  if (target === undefined) {
    console.error('usage: node scripts/launch.mjs <entry.ts | tool> [arguments]');
    process.exitCode = 2;
    return;
  }
  followLauncher();
  followNpm();
  installDependencies(root);
  // A bare word is a tool of node_modules/.bin, anything else a file of the repository.
  const file = /^[\w-]+$/.test(target) ? toolPath(root, target) : resolve(root, target);
  if (isCurrentNode(process.versions.node) && existsSync(process.execPath)) await runHere(file, args);
  else runOn(bringNode(root), [target, ...args]);
}

/** In this very process: the fastest start, and signals reach the entry directly. */
async function runHere(file, args) {
  module.enableCompileCache(join(root, 'node_modules/.cache/compile')); // saves about 0.2 s of a service's start
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
}

/** The launcher once more, as a child on `node`. Signals, exit code and a sudden death of the launcher reach it. */
function runOn(node, args) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [followMark]: '1', PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    // A terminal sends Ctrl-C to the child as well; a second one would look like the user's impatience.
    process.on(signal, () => (signal === 'SIGINT' && isatty(0)) || child.kill(signal));
  }
  child.on('error', (error) => {
    console.error(`turnwire: cannot start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** In that child: when the launcher is gone (kill -9), the channel closes, and the child dies as the launcher did. */
function followLauncher() {
  if (process.env[followMark] === undefined) return;
  delete process.env[followMark];
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel?.unref(); // the channel alone keeps no process alive
}

/**
 * Under `npm start`, which runs this by `exec`, so as its own child: npm passes a SIGTERM on and waits, but a kill -9 of
 * npm would leave the server behind, and the next start would find its port taken.
 */
function followNpm() {
  if (process.env.npm_lifecycle_event === undefined || process.env[followMark] !== undefined) return;
  const npm = process.ppid;
  let ending = false;
  process.on('SIGTERM', () => {
    ending = true;
    if (process.listenerCount('SIGTERM') === 1) process.exit(143); // nobody else is there yet to end it
  });
  const watch = () => process.ppid !== npm && !ending && process.kill(process.pid, 'SIGKILL');
  setInterval(watch, 200).unref();
}

await launch(process.argv.slice(2));
