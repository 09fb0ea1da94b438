import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordChange } from '@turnwire/shared/adapters/mongoose/atomic-write';
import { createBulk } from '@turnwire/shared/adapters/mongoose/bulk';
import { openConnection } from '@turnwire/shared/adapters/mongoose/connection';
import { changeOperation } from '@turnwire/shared/adapters/mongoose/operation';
import { finishWrite } from '@turnwire/shared/adapters/mongoose/ordered-writes';
import { recordsOf } from '@turnwire/shared/adapters/mongoose/records';
import { Conflict, isDuplicate } from '@turnwire/shared/adapters/mongoose/retry';
import { createMongoStore, openMongoStore } from '@turnwire/shared/adapters/mongoose/store';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { Store } from '@turnwire/shared/ports/store';
import { createManualClock, type ManualClock } from '@turnwire/shared/testing/manual-clock';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { mongo } from 'mongoose';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { findMongo } from '../stack/backends/mongodb.ts';
import { eventually } from '../stack/eventually.ts';
import { exampleMemory } from './store/example-memory.ts';
import { refusal } from './store/fixture.ts';

vi.setConfig({ testTimeout: 60_000 });

const server = await findMongo('the MongoDB store on its server');
afterAll(() => server?.close());

const key: SessionKey = { tenantId: 'acme', sessionId: 'ses_1' };
const ann = { tenantId: 'acme', userId: 'ann' };
const session = { ...ann, id: 'ses_1', agentId: 'a', metadata: {} };
const page = { limit: 10, cursor: null };
const LEASE_MS = 10_000;

/** A command as it was sent. */
interface Sent {
  readonly name: string;
  readonly command: Statement;
}

interface Watched {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly connection: Awaited<ReturnType<typeof openConnection>>;
  /** What the store has sent since this was called last. */
  sent(): readonly Sent[];
}

/** A store whose commands are seen. */
async function watched(orderedWrites: boolean, work: (watched: Watched) => Promise<void>): Promise<void> {
  const connection = await openConnection(server!.url, { dbName: server!.newDatabase(), monitorCommands: true });
  const clock = createManualClock(Date.now());
  const store = await openMongoStore(connection, { log: createRecordingLogger(), transactions: !orderedWrites, clock });
  const sent: Sent[] = [];
  connection.getClient().on('commandStarted', ({ commandName: name, command }) => {
    if (!['hello', 'ping', 'endSessions', 'explain'].includes(name)) sent.push({ name, command });
  });
  try {
    await work({
      store,
      clock,
      connection,
      sent: () => sent.splice(0),
    });
  } finally {
    await connection.dropDatabase();
    await store.close();
  }
}

async function connectionTo<T>(url: string, ask: (admin: mongo.Db) => Promise<T>): Promise<T> {
  const connection = await openConnection(url);
  try {
    return await ask(connection.getClient().db('admin'));
  } finally {
    await connection.close();
  }
}

const modes = [
  ['transactions', false],
  ['ordered writes', true],
] as const;

describe.skipIf(server === null)('the MongoDB store', () => {
  test.each(modes)('says what it works with, and logs it (%s)', async (name, orderedWrites) => {
    const log = createRecordingLogger();
    const driver = { dbName: server!.newDatabase() };
    const store = await createMongoStore({ url: server!.url, log, transactions: !orderedWrites, driver });
    expect(store.kind).toBe(`mongodb (${name})`);
    expect(log.lines).toMatchObject([{ level: 'info', fields: { kind: store.kind, database: driver.dbName } }]);
    await store.close();
  });

  test('does without transactions where the server lets dead ones lock their documents for a minute', async () => {
    // As servers do by default; a client that is killed in the middle would block its sessions for so long.
    const driver = { dbName: server!.newDatabase() };
    const store = await createMongoStore({ url: server!.url, log: createRecordingLogger(), driver });
    const limits = await connectionTo(server!.url, (admin) =>
      admin.command({ getParameter: 1, transactionLifetimeLimitSeconds: 1 }).catch(() => ({})),
    );
    const { transactionLifetimeLimitSeconds: limit = 60 } = limits as Record<string, number>;
    expect(store.kind).toBe(limit <= 10 ? 'mongodb (transactions)' : 'mongodb (ordered writes)');
    await store.close();
  });

  test.each(modes)('takes three round trips for a write (%s)', async (_name, orderedWrites) => {
    await watched(orderedWrites, async ({ store, sent }) => {
      const commands = async (call: Promise<unknown>) => {
        await call;
        return sent().map(({ name }) => name);
      };
      const write = orderedWrites ? ['find', 'update', 'update'] : ['find', 'bulkWrite', 'commitTransaction'];
      const rootOnly = orderedWrites ? ['find', 'update'] : write;
      const keyed = { key: 'k', fingerprint: 'f' };
      const holder = new TurnHolder(store.turns, key, 'w');
      sent();
      expect(await commands(store.sessions.create(session, null))).toEqual(['insert']);
      const command = { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' } as const;
      expect(await commands(store.sessions.acceptTurn(key, command, keyed))).toEqual(write);
      expect(await commands(holder.claim(LEASE_MS))).toEqual(write);
      expect(await commands(holder.begin())).toEqual(write);
      expect(await commands(holder.step(3))).toEqual(write);
      const calls = holder.toolCalls.map(({ id }) => id);
      expect(await commands(holder.start(calls))).toEqual(write);
      expect(await commands(holder.outcome(calls))).toEqual(write);
      expect(await commands(holder.renew(LEASE_MS))).toEqual(rootOnly);
      // The note that an extraction is owed comes first.
      expect(await commands(holder.complete('done', { extract: true }))).toEqual(write.toSpliced(1, 0, 'update'));
      expect(await commands(holder.release())).toEqual(rootOnly);
      expect(await commands(store.turns.history(key, { maxMessages: 100, maxChars: 1000 }))).toEqual(['find', 'find']);
      expect(await commands(store.sessions.get(key))).toEqual(['find']);
      expect(await commands(store.sessions.turn('acme', 'turn_1'))).toEqual(['find', 'find']);
      expect(await commands(store.memories.valid(ann, 10))).toEqual(['find', 'find']);
    });
  });

  test.each(modes)('looks for everything by an index, and sorts nothing (%s)', async (_name, orderedWrites) => {
    await watched(orderedWrites, async ({ store, clock, connection, sent }) => {
      await doEverything(store, clock);
      await removeEverything(store, clock);
      const statements = [
        ...new Map(
          sent()
            .flatMap(statementsOf)
            .map((one) => [shapeOf(one), one]),
        ).values(),
      ];
      expect(statements.length).toBeGreaterThan(35);
      const found = await Promise.all(
        statements.map(async (statement) => {
          const plan = await connection.db!.command({ explain: statement, verbosity: 'queryPlanner' });
          return { statement, plan: JSON.stringify(plan) };
        }),
      );
      expect(found.filter(({ plan }) => !/IXSCAN|IDHACK|EXPRESS|COUNT_SCAN/.test(plan))).toEqual([]);
      expect(found.filter(({ plan }) => /"COLLSCAN"|"SORT"/.test(plan))).toEqual([]);
    });
  });

  test.each(modes)('keeps a result of 40 MB beside its records (%s)', async (_name, orderedWrites) => {
    await watched(orderedWrites, async ({ store, connection }) => {
      await store.sessions.create(session, null);
      await store.sessions.acceptTurn(key, { turnId: 'turn_1', text: '\0:odd', onBusy: 'enqueue' }, null);
      const holder = new TurnHolder(store.turns, key, 'w');
      await holder.claim(LEASE_MS);
      await holder.begin();
      await holder.step(2);
      const [big, small] = holder.toolCalls.map(({ id }) => id);
      const content = `\ud800\0:${'é🦀'.repeat(7_000_000)}`; // with half a character, which UTF-8 does not have
      const outcome = { state: 'done', shown: 'cut', truncated: true } as const;
      const outcomes = [
        { ...outcome, callId: big!, messageId: 'msg_big', content },
        { ...outcome, callId: small!, messageId: 'msg_small', content: '\0:small' },
      ];
      const write = holder.write;
      await store.turns.recordOutcomes(key, { write, turnId: 'turn_1', outcomes });
      const contents = [undefined, '\0:odd', 'thinking 1', content, '\0:small'].slice(1);
      const history = await store.turns.history(key, { maxMessages: 10, maxChars: 100_000_000 });
      expect(history.map((message) => message.content === contents[message.seq - 1])).toEqual([true, true, true, true]);
      expect((await store.turns.history(key, { maxMessages: 10, maxChars: 1_000_000 })).map(({ seq }) => seq)).toEqual([
        4,
      ]);
      const calls = await store.sessions.toolCalls('acme', 'turn_1');
      expect(calls.map(({ result }) => result === content)).toEqual([true, false]);

      // The next write reads the ledger; the text is stored once, and no document comes near to 16 MB.
      const renewed = await store.turns.renew(key, { token: holder.token, leaseMs: LEASE_MS });
      expect(renewed.cancel).toBeNull();
      const sizes = await sizesOf(connection);
      expect(Math.max(...sizes.records)).toBeLessThan(300_000);
      expect(Math.max(...sizes.texts)).toBeLessThan(5_000_000);
      const bytes = Buffer.byteLength(JSON.stringify(content));
      expect(sizes.texts.reduce((sum, size) => sum + size, 0)).toBeLessThan(bytes * 1.01);
      await store.sessions.delete(key);
      expect((await sizesOf(connection)).texts).toEqual([]);
    });
  });

  test.each(modes)(
    'leaves nothing of a deleted session but its id, and that not for long (%s)',
    async (_name, orderedWrites) => {
      await watched(orderedWrites, async ({ store, clock, connection }) => {
        const records = connection.db!.collection('records');
        await store.sessions.create({ ...session, metadata: { secret: 'hush' } }, null);
        await store.sessions.acceptTurn(key, { turnId: 'turn_1', text: 'hush', onBusy: 'enqueue' }, null);
        const holder = new TurnHolder(store.turns, key, 'w');
        await holder.claim(LEASE_MS);
        await holder.begin();
        await holder.step(1);
        await store.sessions.delete(key);
        const left = await records.find().toArray();
        expect(left.map(({ _id, kind }) => [String(_id), kind])).toEqual([['session/acme/ses_1', 'deleted']]);
        expect(JSON.stringify(left)).not.toMatch(/hush|ann/);
        await clock.advance(60 * 60_000);
        expect(await store.turns.takeDue(10, 1000)).toEqual([]);
        expect(await records.countDocuments()).toBe(0);
      });
    },
  );

  test('carries out what a writer without transactions has left, also with them', async () => {
    await watched(true, async ({ store, clock, connection }) => {
      await store.sessions.create(session, null);
      await store.sessions.acceptTurn(key, { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' }, null);
      const records = connection.db!.collection<{ _id: string }>('records');
      const asItWas = await records.find({ _id: { $ne: 'session/acme/ses_1' } }).toArray();
      // As if the writer had died after its commit: the rest is not done, and stands in the session.
      let redo = '';
      connection.getClient().on('commandStarted', ({ command }) => {
        redo ||= command.updates?.[0]?.u?.$set?.redo ?? '';
      });
      await new TurnHolder(store.turns, key, 'w').claim(LEASE_MS);
      expect(redo).not.toBe('');
      for (const record of asItWas) await records.replaceOne({ _id: record._id }, record);
      await records.updateOne({ _id: 'session/acme/ses_1' }, { $set: { redo } });
      const peer = await openConnection(server!.url, { dbName: connection.name });
      const next = await openMongoStore(peer, { log: createRecordingLogger(), transactions: true, clock });
      expect(next.kind).toBe('mongodb (transactions)');
      const { value } = await next.sessions.cancelTurn(key, { turnId: null }, null);
      expect(value.turn).toMatchObject({ status: 'RUNNING', attempt: 1, cancel: { reason: 'requested' } });
      await next.close();
    });
  });

  test('may repeat the rest of any older write, as a process does that was away for a while', async () => {
    await watched(true, async ({ store, clock, connection, sent }) => {
      await doEverything(store, clock);
      const roots = sent()
        .filter(({ name }) => name === 'update' || name === 'insert')
        .flatMap(({ command }) => [...list(command.updates), ...list(command.documents)])
        .map(({ q, u, ...inserted }) => ({ ...q, ...inserted, ...u?.$set }))
        .filter(({ redo }) => redo !== undefined);
      expect(roots.length).toBeGreaterThanOrEqual(20);
      const records = recordsOf(await connection.useDb(connection.name), 'local');
      const before = await records.find().sort({ _id: 1 }).lean();
      for (const root of [...roots, ...roots.toReversed()]) await finishWrite(records, root);
      const late = await records.find().sort({ _id: 1 }).lean();
      expect(late).toEqual(before);
    });
  });

  test.each(modes)('lets many processes write to one session (%s)', async (_name, orderedWrites) => {
    await watched(orderedWrites, async ({ store, clock, connection }) => {
      await store.sessions.create(session, null);
      const peers = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const peer = await openConnection(server!.url, { dbName: connection.name });
          return openMongoStore(peer, { log: createRecordingLogger(), transactions: !orderedWrites, clock });
        }),
      );
      const accepts = Array.from({ length: 24 }, (_, i) =>
        peers[i % 4]!.sessions.acceptTurn(key, { turnId: `turn_${i}`, text: 'hi', onBusy: 'enqueue' }, null),
      );
      const numbers = (await Promise.all(accepts)).map(({ value }) => value.turn.number).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 24 }, (_, i) => i + 1));
      await Promise.all(peers.map((peer) => peer.close()));
    });
  });

  test('judges leases by the clock of the server, whatever the machine’s own says', async () => {
    const driver = { dbName: server!.newDatabase() };
    const options = { url: server!.url, log: createRecordingLogger(), driver };
    const store = await createMongoStore(options);
    const wrong = vi.spyOn(Date, 'now').mockReturnValue(0);
    const hourOff = await createMongoStore(options).finally(() => wrong.mockRestore());
    await hourOff.sessions.create(session, null);
    await store.sessions.acceptTurn(key, { turnId: 'turn_1', text: 'hi', onBusy: 'enqueue' }, null);
    const claim = await new TurnHolder(hourOff.turns, key, 'a').claim(500);
    expect(Math.abs((claim?.lease.claimedAt ?? 0) - Date.now())).toBeLessThan(500); // the server is on this machine
    expect(await new TurnHolder(store.turns, key, 'b').claim(500)).toBeNull();
    await sleep(520);
    expect(await new TurnHolder(store.turns, key, 'b').claim(500)).toMatchObject({ lease: { token: 2 } });
    await store.close();
    await hourOff.close();
  });

  test.each([
    ['before 8.0', 21, ['update', 'insert']],
    ['from 8.0 on', 25, ['bulkWrite']],
  ] as const)('writes by as few commands as a server %s takes', async (_name, wireVersion, commands) => {
    await watched(false, async ({ connection, sent }) => {
      const records = recordsOf(await connection.useDb(connection.name), 'majority');
      const bulk = createBulk(connection, records, wireVersion);
      const changes: RecordChange[] = [
        { kind: 'put', id: 'root', version: 2, set: { kind: 'session' } },
        { kind: 'add', id: 'b', version: 1, set: { kind: 'call', turn: 't' } },
        { kind: 'each', where: { fields: { turn: 't', kind: 'message' } }, set: { kind: 'removed' }, unset: ['json'] },
        { kind: 'add', id: 'c', version: 1, set: { kind: 'call', turn: 't' } },
      ];
      await records.insertMany([{ _id: 'a', version: 1, kind: 'message', turn: 't', json: '1' }]);
      const write = (some: readonly RecordChange[]) =>
        connection.transaction((clientSession) => bulk(some.map(changeOperation), clientSession));
      sent();
      await write(changes);
      expect(sent().map(({ name }) => name)).toEqual([...commands, 'commitTransaction']);
      expect(await records.find().sort({ _id: 1 }).lean()).toEqual([
        { _id: 'a', version: 1, kind: 'removed', turn: 't' },
        { _id: 'b', version: 1, kind: 'call', turn: 't' },
        { _id: 'c', version: 1, kind: 'call', turn: 't' },
        { _id: 'root', version: 2, kind: 'session' },
      ]);
      // A root that another made meanwhile is a conflict; any other id that is taken is a mistake.
      const failure = (...some: RecordChange[]) => write(some).catch((error: unknown) => error);
      const [root, taken] = [changes[0]!, changes[1]!];
      expect(await failure(taken, root)).toBeInstanceOf(Conflict);
      expect(isDuplicate(await failure(root, taken))).toBe(true);
    });
  });

  test.skipIf(server?.server === null)('is unavailable soon while its server is away, and back by itself', async () => {
    const program = server!.server!;
    const driver = { dbName: server!.newDatabase() };
    const log = createRecordingLogger();
    const stores = [
      await createMongoStore({ url: server!.url, log, driver, transactions: true }),
      await createMongoStore({ url: server!.url, log, driver, transactions: false }),
    ];
    await stores[0]!.sessions.create(session, null);
    await program.kill();
    const accept = (store: Store, turnId: string) =>
      store.sessions.acceptTurn(key, { turnId, text: 'hi', onBusy: 'enqueue' }, null);
    for (const store of stores) {
      const started = performance.now();
      const calls = [accept(store, 'turn_x'), store.ping(), store.sessions.get(key), store.turns.takeDue(1, 1)];
      const refusals = await Promise.all(calls.map((call) => refusal(call, 'unavailable')));
      expect(refusals.map(({ retry }) => retry)).toEqual([true, true, true, true]);
      expect(performance.now() - started).toBeLessThan(6_000);
    }
    await refusal(createMongoStore({ url: server!.url, log, driver }), 'unavailable');
    await program.start();
    for (const [i, store] of stores.entries()) {
      await eventually(() => store.ping(), 15_000);
      expect((await accept(store, `turn_${i + 1}`)).value.turn.number).toBe(i + 1);
    }
    program.signal('SIGSTOP'); // a server that is there and says nothing
    try {
      await refusal(accept(stores[0]!, 'turn_y'), 'unavailable');
    } finally {
      program.signal('SIGCONT');
    }
    await eventually(() => stores[0]!.ping(), 15_000);
    for (const store of stores) await store.close();
  });
});

/** One of everything that the store can be asked for. */
async function doEverything(store: Store, clock: ManualClock): Promise<void> {
  const keyed = (name: string) => ({ key: name, fingerprint: name });
  await store.sessions.create(session, keyed('create'));
  for (const cursor of ['first', null]) {
    for (const userId of [null, 'ann']) {
      for (const state of [null, 'IDLE' as const]) {
        const query = { limit: 1, cursor: null, tenantId: 'acme', userId, state };
        const { nextCursor } = await store.sessions.list(query);
        await store.sessions.list({ ...query, cursor: cursor === null ? null : nextCursor });
      }
    }
    if (cursor !== null) await store.sessions.create({ ...session, id: 'ses_2' }, null);
  }
  const holder = new TurnHolder(store.turns, key, 'w');
  for (const onBusy of ['enqueue', 'rollback'] as const) {
    await store.sessions.acceptTurn(key, { turnId: `turn_${onBusy}`, text: 'hi', onBusy }, keyed(onBusy));
  }
  await holder.claim(1000);
  await holder.finish({ status: 'CANCELLED' });
  await holder.release();
  await holder.claim(1000);
  await holder.begin();
  await holder.step(1);
  const command = {
    callId: holder.toolCalls[0]!.id,
    messageId: 'msg_x',
    state: 'done',
    shown: '',
    truncated: true,
  } as const;
  const outcomes = [{ ...command, content: 'x'.repeat(300_000) }];
  await store.turns.recordOutcomes(key, { write: holder.write, turnId: holder.turn.id, outcomes });
  await refusal(holder.begin(), 'transition_refused');
  await store.turns.adoptOutbox(key, { write: { ...holder.write, nextEventId: holder.write.nextEventId + 10 } });
  await store.sessions.acceptTurn(key, { turnId: 'turn_3', text: 'hi', onBusy: 'interrupt' }, null);
  const write = { ...holder.write, nextEventId: holder.write.nextEventId + 20 };
  await store.turns.release(key, { write });
  await holder.claim(1000);
  await holder.finish({ status: 'CANCELLED' });
  await holder.release();
  await holder.claim(1000);
  await holder.begin();
  await holder.complete('done', { extract: true });
  await store.turns.history(key, { maxMessages: 10, maxChars: 1_000_000 });
  const { nextCursor } = (await store.sessions.messages(key, { limit: 1, cursor: null }))!;
  await store.sessions.messages(key, { limit: 1, cursor: nextCursor });
  await store.sessions.turn('acme', 'turn_3');
  await store.sessions.toolCalls('acme', 'turn_rollback');
  await clock.advance(2000);
  await store.turns.takeDue(10, 1000);
  await store.extractions.takeDue(10, 1000);
  await store.memories.add(exampleMemory({ id: 'mem_1' }), keyed('add'));
  const pending = await store.extractions.next(ann);
  const closed = [{ id: 'mem_1', validTo: clock.now() + 1000, supersededBy: null }];
  await store.extractions.complete(pending!.turn, { added: [exampleMemory({ id: 'mem_2' })], closed });
  await store.extractions.giveUp(pending!.turn);
  const memories = await store.memories.list(ann, { limit: 1, cursor: null });
  await store.memories.list(ann, { limit: 1, cursor: memories.nextCursor });
  await store.memories.update('acme', 'mem_1', { text: 'coffee' });
  await store.memories.delete('acme', 'mem_1');
  await store.memories.deleteAll(ann);
  await store.memories.add(exampleMemory({ id: 'mem_3' }), null);
  await store.extractions.next(ann);
  await clock.advance(120_000);
  await store.extractions.takeDue(10, 1000);
  const settings = { name: 'A' } as never; // the store does not look into it
  await store.agents.put('acme', 'a', settings);
  await store.agents.put('acme', 'a', { name: 'B' } as never);
  await store.agents.getRevision('acme', 'a', 1);
  await store.agents.list('acme', page);
  await store.agents.delete('acme', 'a');
}

/** The rest of it. */
async function removeEverything(store: Store, clock: ManualClock): Promise<void> {
  await store.sessions.delete(key);
  await clock.advance(25 * 60 * 60_000);
  await store.turns.takeDue(10, 1000);
  await store.prune(10);
}

// biome-ignore lint/suspicious/noExplicitAny: commands as the driver hands them out
type Statement = Record<string, any>;

function list(value: readonly Statement[] | undefined): readonly Statement[] {
  return value ?? [];
}

/** What of a command can be explained, one by one. */
function statementsOf({ name, command }: Sent): readonly Statement[] {
  switch (name) {
    case 'find':
      return [pick(command, ['find', 'filter', 'sort', 'limit', 'projection'])];
    case 'aggregate':
      return [{ ...pick(command, ['aggregate', 'pipeline']), cursor: {} }];
    case 'update':
      return list(command.updates).map((update) => ({ update: command.update, updates: [update] }));
    case 'delete':
      return list(command.deletes).map((one) => ({ delete: command.delete, deletes: [one] }));
    case 'bulkWrite':
      return list(command.ops)
        .filter((op) => 'update' in op)
        .map(({ filter: q, updateMods: u, multi, upsert }) => ({
          update: 'records',
          updates: [{ q, u, multi, upsert }],
        }));
    case 'insert':
    case 'getMore':
    case 'killCursors':
    case 'commitTransaction':
    case 'abortTransaction':
      return [];
    default:
      throw new Error(`The store has sent ${name}, and this test does not know how to explain it.`);
  }
}

function pick(command: Statement, names: readonly string[]): Statement {
  return Object.fromEntries(names.filter((name) => name in command).map((name) => [name, command[name]]));
}

/** The same for statements that differ in their values alone. */
function shapeOf(statement: Statement): string {
  return JSON.stringify(statement, (_key, value: unknown) => (typeof value === 'object' ? value : typeof value));
}

/** Of all documents, in bytes. */
async function sizesOf(connection: Watched['connection']) {
  const sizes = async (name: string) => {
    const found = await connection.db!.collection(name).find().toArray();
    return found.map((document) => mongo.BSON.calculateObjectSize(document));
  };
  return { records: await sizes('records'), texts: await sizes('texts') };
}
