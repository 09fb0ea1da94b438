import type { Migration } from '../migrate.ts';

/**
 * Records are JSON documents (`doc`); what a query looks for stands beside them in a column of its own. Every query
 * runs on an index (`store-plans.test.ts`). Integer keys join a session's rows, so that an entry of a message or of a
 * tool call's index is a few bytes and a write costs the same in a session of 10,000 messages as in an empty one.
 */
const sql = `
CREATE TABLE sessions (
  pk INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  sweep_at INTEGER, -- dueAt, put off by whoever took it last
  doc TEXT NOT NULL,
  UNIQUE (tenant_id, id)
) STRICT;
CREATE INDEX sessions_by_tenant ON sessions (tenant_id, created_at, id);
CREATE INDEX sessions_by_user ON sessions (tenant_id, user_id, created_at, id);
CREATE INDEX sessions_by_state ON sessions (tenant_id, state, created_at, id);
CREATE INDEX sessions_to_sweep ON sessions (sweep_at) WHERE sweep_at IS NOT NULL;

CREATE TABLE turns (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (pk) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  extraction TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  doc TEXT NOT NULL,
  UNIQUE (session, number),
  UNIQUE (tenant_id, id)
) STRICT;
CREATE INDEX turns_open ON turns (session, number) WHERE is_open = 1;
CREATE INDEX turns_to_extract ON turns (tenant_id, user_id, finished_at, id) WHERE extraction = 'pending';

CREATE TABLE tool_calls (
  pk INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL REFERENCES turns (pk) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  position INTEGER NOT NULL,
  doc TEXT NOT NULL,
  UNIQUE (turn, step, position)
) STRICT;

CREATE TABLE messages (
  pk INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (pk) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  doc TEXT NOT NULL,
  UNIQUE (session, seq)
) STRICT;
CREATE INDEX messages_by_turn ON messages (turn, seq);

CREATE TABLE idempotency_keys (
  tenant_id TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  answer TEXT NOT NULL,
  UNIQUE (tenant_id, key)
) STRICT;
CREATE INDEX idempotency_keys_to_prune ON idempotency_keys (expires_at);

CREATE TABLE registrations (
  kind TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  name TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  doc TEXT, -- null: deleted; the row stays, since revisions go on growing
  UNIQUE (kind, tenant_id, name)
) STRICT;

CREATE TABLE agent_revisions (
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  doc TEXT NOT NULL,
  UNIQUE (tenant_id, id, revision)
) STRICT;

CREATE TABLE memories (
  pk INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  valid_to INTEGER,
  doc TEXT NOT NULL,
  UNIQUE (tenant_id, id)
) STRICT;
CREATE INDEX memories_by_user ON memories (tenant_id, user_id, created_at, id);

CREATE TABLE memory_tombstones (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  text TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, user_id, text)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_erasures (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  erased_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;

-- One row per user with pending extractions.
CREATE TABLE extraction_users (
  tenant_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  sweep_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX extraction_users_to_sweep ON extraction_users (sweep_at);
`;

export const storeMigration: Migration = { number: 1, name: 'store', sql };
