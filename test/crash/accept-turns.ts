// Accepts turns without end in the folder that it is given, and prints each id once it is stored. Runs until killed.
import { writeSync } from 'node:fs';
import { openSqliteStore } from '@turnwire/shared/testing/sqlite-store';

const { store } = openSqliteStore(process.argv[2] ?? '');
const key = { tenantId: 'acme', sessionId: `ses_${process.pid}` };
await store.sessions.create({ ...key, id: key.sessionId, userId: 'ann', agentId: 'a', metadata: {} }, null);
for (let i = 1; ; i += 1) {
  const turnId = `turn_${process.pid}_${i}`;
  const text = `text ${i} `.repeat(i % 500);
  await store.sessions.acceptTurn(key, { turnId, text, onBusy: 'enqueue' }, { key: turnId, fingerprint: 'f' });
  writeSync(1, `${turnId}\n`); // synchronously: what is printed was stored before, whenever the kill comes
}
