// Does one of everything that writes to a store without transactions, and prints each step when it is done. Kills
// itself right after the write command with the given number; without one, prints how many there were.
import { writeSync } from 'node:fs';
import { openConnection } from '@turnwire/shared/adapters/mongoose/connection';
import { openMongoStore } from '@turnwire/shared/adapters/mongoose/store';
import { createRecordingLogger } from '@turnwire/shared/testing/recording-logger';
import { TurnHolder } from '@turnwire/shared/testing/turn-holder';
import { exampleMemory } from '../contracts/store/example-memory.ts';

const [url = '', dbName = '', lastWrite = 'none'] = process.argv.slice(2);
const connection = await openConnection(url, { dbName, monitorCommands: true });
const store = await openMongoStore(connection, { log: createRecordingLogger(), transactions: false });

let writes = 0;
connection.getClient().on('commandSucceeded', ({ commandName }) => {
  if (!['insert', 'update', 'delete', 'findAndModify'].includes(commandName)) return;
  writes += 1;
  if (String(writes) === lastWrite) process.kill(process.pid, 'SIGKILL');
});

async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  await work();
  writeSync(1, `${name}\n`); // synchronously: what is printed was stored before, whenever the kill comes
}

const ann = { tenantId: 'acme', userId: 'ann' };
const key = { tenantId: 'acme', sessionId: 'ses_1' };
const keyed = (name: string) => ({ key: name, fingerprint: name });
const session = { ...ann, id: key.sessionId, agentId: 'a', metadata: {} };
const accept = (number: number, onBusy: 'enqueue' | 'rollback' = 'enqueue') =>
  step(`turn_${number}`, () => {
    const command = { turnId: `turn_${number}`, text: `text ${number}`, onBusy };
    return store.sessions.acceptTurn(key, command, keyed(`turn_${number}`));
  });
const worker = new TurnHolder(store.turns, key, 'worker');
const openCalls = () => worker.toolCalls.map(({ id }) => id);

await step('ses_1', () => store.sessions.create(session, keyed('ses_1')));
await step('ses_2', () => store.sessions.create({ ...session, id: 'ses_2' }, null));
await accept(1);
await step('claim', () => worker.claim(500));
await step('begin', () => worker.begin());
await step('plan', () => worker.step(2));
await step('suspend', () => worker.suspend({ callIds: openCalls(), ttlMs: null }));
await step('let go', () => worker.release());
const settle = { interruptId: null, decisions: {}, others: { action: 'approve' }, text: null } as const;
await step('settle', () => store.sessions.settleInterrupt(key, settle, keyed('settle')));
await step('resume', () => worker.claim(500));
await step('start', () => worker.start(openCalls()));
await step('outcomes', () => worker.outcome(openCalls()));
await accept(2);
await step('finish', () => worker.complete('x'.repeat(250_000), { extract: true })); // long enough to be kept beside
await step('release', () => worker.release());
await step('mem_1', () => store.memories.add(exampleMemory({ id: 'mem_1', text: 'Likes tea' }), keyed('mem_1')));
await step('forget', () => store.memories.delete('acme', 'mem_1'));
const pending = await store.extractions.next(ann);
const added = [exampleMemory({ id: 'mem_2' }), exampleMemory({ id: 'mem_3' })];
await step('extract', () => store.extractions.complete(pending!.turn, { added, closed: [] }));
await step('claim 2', () => worker.claim(500));
await step('begin 2', () => worker.begin());
await accept(3, 'rollback');
await step('roll back', () => worker.finish({ status: 'CANCELLED' }));
await step('delete', () => store.sessions.delete({ ...key, sessionId: 'ses_2' }));
await step('erase', () => store.memories.deleteAll(ann));
writeSync(1, `${writes} writes\n`);
await store.close();
