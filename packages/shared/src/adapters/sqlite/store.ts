import type { HttpTool, McpServer } from '../../domain/registration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Store } from '../../ports/store.ts';
import { createAgents } from './agents.ts';
import type { Database } from './database.ts';
import { expireDeadLeases } from './dead-leases.ts';
import { createExtractions } from './extractions.ts';
import { createIdempotency } from './idempotency.ts';
import { createMemories } from './memories.ts';
import { createRegistrations } from './registrations.ts';
import { createSessions } from './sessions.ts';
import { createTurns } from './turns.ts';
import { createUpdateSession } from './update-session.ts';

export interface SqliteStoreOptions {
  readonly database: Database;
  readonly clock: Clock;
}

/**
 * The store of the embedded profile. Every method does its work within one turn of the event loop, so writes are
 * serial by nature. Closing it closes the database: close the queue and the event log on the same file before.
 */
export function createSqliteStore({ database: db, clock }: SqliteStoreOptions): Store {
  expireDeadLeases(db, clock.now());
  const idempotency = createIdempotency(db, clock);
  const update = createUpdateSession(db, clock, idempotency);
  return {
    kind: 'sqlite',
    agents: createAgents(db, clock),
    tools: createRegistrations<HttpTool>(db, clock, 'tool'),
    mcpServers: createRegistrations<McpServer>(db, clock, 'mcp_server'),
    sessions: createSessions({ db, clock, idempotency, update }),
    turns: createTurns(db, clock, update),
    memories: createMemories(db, clock, idempotency),
    extractions: createExtractions(db, clock),
    ping: async () => {
      db.get('SELECT 1');
    },
    prune: async (limit) => idempotency.prune(limit),
    close: async () => db.close(),
  };
}
