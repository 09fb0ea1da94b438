import { expect, test } from 'vitest';
import { makeSqliteStore } from '../../testing/sqlite-store.ts';
import { TurnHolder } from '../../testing/turn-holder.ts';
import type { Database } from './database.ts';
import { expireDeadLeases } from './dead-leases.ts';
import { createSqliteStore } from './store.ts';

/** A database that notes every statement that it is asked to run. */
function noting(db: Database, seen: Set<string>): Database {
  const note =
    <A extends [string, ...never[]], R>(call: (...args: A) => R) =>
    (...args: A): R => {
      seen.add(args[0]);
      return call(...args);
    };
  return { ...db, all: note(db.all), get: note(db.get), run: note(db.run) };
}

test('every statement of the store runs on an index', async () => {
  const { database, clock, close, advance } = await makeSqliteStore();
  const seen = new Set<string>();
  const store = createSqliteStore({ database: noting(database, seen), clock });
  const user = { tenantId: 'acme', userId: 'ann' };
  const key = { tenantId: 'acme', sessionId: 'ses_1' };
  const all = { limit: 10, cursor: null };
  const session = { ...user, id: 'ses_1', agentId: 'a', metadata: {} };
  await store.sessions.create(session, { key: 'k', fingerprint: 'f' });
  for (const userId of [null, 'ann']) {
    for (const state of [null, 'IDLE' as const]) await store.sessions.list({ ...all, tenantId: 'acme', userId, state });
  }
  const holder = new TurnHolder(store.turns, key, 'w');
  for (const onBusy of ['enqueue', 'rollback'] as const) {
    await store.sessions.acceptTurn(key, { turnId: `turn_${onBusy}`, text: 'hi', onBusy }, null);
  }
  await holder.claim(1000);
  await holder.begin();
  await holder.step(1);
  await holder.complete();
  await holder.release();
  await holder.claim(1000);
  await holder.complete('done', { extract: true });
  await store.turns.history(key, { maxMessages: 10, maxChars: 100 });
  await store.sessions.messages(key, all);
  await store.sessions.toolCalls('acme', 'turn_enqueue');
  await advance(2000);
  expireDeadLeases(noting(database, seen), clock.now());
  await store.turns.takeDue(10, 1000);
  await store.extractions.takeDue(10, 1000);
  const pending = await store.extractions.next(user);
  const memory = {
    ...user,
    id: 'mem_1',
    text: 'tea',
    kind: 'fact',
    subject: null,
    slot: null,
    value: null,
    keywords: [],
    eventTime: null,
    quote: null,
    sourceSessionId: null,
    sourceTurnId: null,
    validFrom: 0,
    validTo: null,
    supersededBy: null,
    createdAt: 0,
    updatedAt: 0,
  };
  await store.extractions.complete(pending!.turn, {
    added: [memory],
    closed: [{ id: 'mem_1', validTo: clock.now() + 1000, supersededBy: null }],
  });
  await store.memories.list(user, all);
  await store.memories.update('acme', 'mem_1', { text: 'coffee' });
  await store.memories.delete('acme', 'mem_1');
  await store.memories.deleteAll(user);
  await store.extractions.next(user);
  const settings = { name: 'A' } as never; // the store does not look into it
  await store.agents.put('acme', 'a', settings);
  await store.agents.getRevision('acme', 'a', 1);
  await store.agents.list('acme', all);
  await store.agents.delete('acme', 'a');
  await store.sessions.delete(key);
  await store.prune(10);

  const plans = [...seen]
    .filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT)/.test(sql) && sql !== 'SELECT 1')
    .map((sql) => ({ sql, steps: planOf(database, sql) }));
  expect(plans.length).toBeGreaterThan(45);
  // A partial index holds only what is looked for: reading all of it is no scan of the table.
  const scans = plans.filter(({ steps }) => steps.some((step) => /^SCAN (?!.*INDEX sessions_to_sweep)/.test(step)));
  expect(scans).toEqual([]);
  const sorts = plans.filter(({ steps }) => steps.some((step) => /TEMP B-TREE/.test(step)));
  expect(sorts).toEqual([]);
  await close();
});

function planOf(db: Database, sql: string): readonly string[] {
  const parameters = sql.replace(/'[^']*'/g, '').match(/\?/g)?.length ?? 0;
  return db.all(`EXPLAIN QUERY PLAN ${sql}`, ...Array(parameters).fill(1)).map((row) => String(row.detail));
}
