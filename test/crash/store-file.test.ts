import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSqliteStore } from '@turnwire/shared/testing/sqlite-store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const script = fileURLToPath(new URL('./accept-turns.ts', import.meta.url));

interface Writer {
  readonly process: ChildProcess;
  /** The ids that it has printed in full. */
  printed(): readonly string[];
  errors(): string;
}

function startWriter(dataDir: string): Writer {
  const child = spawn(process.execPath, [script, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  return { process: child, printed: () => out.split('\n').slice(0, -1), errors: () => err };
}

async function printedAtLeast(writer: Writer, count: number): Promise<void> {
  while (writer.printed().length < count) {
    if (writer.process.exitCode !== null) throw new Error(`The writer ended by itself: ${writer.errors()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe('the file of the store', () => {
  let dataDir: string;
  const writers: Writer[] = [];

  const start = () => {
    const writer = startWriter(dataDir);
    writers.push(writer);
    return writer;
  };

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'turnwire-crash-'));
  });
  afterEach(() => {
    for (const writer of writers.splice(0)) writer.process.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('has, after kill -9, every turn that was accepted', async () => {
    for (const count of [1, 40, 400]) {
      const writer = start();
      const closed = once(writer.process, 'close');
      await printedAtLeast(writer, count);
      writer.process.kill('SIGKILL');
      await closed;
      const accepted = writer.printed();
      expect(accepted.length).toBeGreaterThanOrEqual(count);

      const { store, database } = openSqliteStore(dataDir);
      expect(database.get('PRAGMA integrity_check')).toMatchObject({ integrity_check: 'ok' });
      const session = await store.sessions.get({ tenantId: 'acme', sessionId: `ses_${writer.process.pid}` });
      // One more may have been stored and not printed; none may have been printed and not stored.
      expect([accepted.length, accepted.length + 1]).toContain(session?.turnCount);
      for (const [i, id] of accepted.entries()) {
        expect(await store.sessions.turn('acme', id)).toMatchObject({ number: i + 1, status: 'QUEUED' });
      }
      const due = await store.turns.takeDue(1000, 1);
      expect(due.map(({ sessionId }) => sessionId)).toContain(session?.id);
      await store.close();
    }
  });

  test('belongs to one process: a second one is refused', async () => {
    const first = start();
    await printedAtLeast(first, 1);
    const second = start();
    const [code] = await once(second.process, 'close');
    expect(code).not.toBe(0);
    expect(second.errors()).toContain(`${dataDir} is in use by another Turnwire process`);
    expect(second.printed()).toEqual([]);
    const before = first.printed().length;
    await printedAtLeast(first, before + 1); // and the first one is not disturbed
  });
});
