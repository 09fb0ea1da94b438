import type { McpServer, Registered } from '@turnwire/shared/domain/registration';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { RegistrationStore } from '@turnwire/shared/ports/config-store';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Tool } from '@turnwire/shared/ports/tool';
import { findRegistrations } from '../find-registrations.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { openMcpClient } from './mcp-client.ts';
import { McpConnection, type OpenMcp } from './mcp-connection.ts';

export interface McpServersOptions {
  readonly store: RegistrationStore<McpServer>;
  readonly fetch: GuardedFetch['fetch'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether servers that are programs may be started on this machine. */
  readonly toolsAllowStdio: boolean;
}

/** The MCP servers of all tenants, with one connection for each revision of a registration. */
export interface McpServers {
  /** Tools of the named servers, or of all of a tenant. Those that cannot be reached now have none. */
  find(tenantId: string, names: ReadonlySet<string> | 'all'): Promise<readonly Tool[]>;
  close(): Promise<void>;
}

const IDLE_MS = 600_000;
const SWEEP_MS = 60_000;

interface Entry {
  readonly tenantId: string;
  readonly name: string;
  readonly revision: string;
  readonly connection: McpConnection;
}

export function createMcpServers(options: McpServersOptions): McpServers {
  const { store, clock } = options;
  const entries = new Map<string, Entry>();
  const stopSweeping = clock.every(SWEEP_MS, () => closeIdle(entries));

  /** Lets go of what is registered no longer, or differently. */
  function keepOnly(
    tenantId: string,
    names: ReadonlySet<string> | 'all',
    found: readonly Registered<McpServer>[],
  ): void {
    const current = new Set(found.map((server) => keyOf(server) + revisionOf(server)));
    for (const [key, entry] of entries) {
      if (entry.tenantId !== tenantId || (names !== 'all' && !names.has(entry.name))) continue;
      if (current.has(key + entry.revision)) continue;
      entries.delete(key);
      entry.connection.retire();
    }
  }

  function connectionOf(server: Registered<McpServer>): McpConnection {
    const key = keyOf(server);
    const known = entries.get(key);
    if (known !== undefined) return known.connection;
    const connection = createConnection(options, server);
    const { tenantId, value } = server;
    entries.set(key, { tenantId, name: value.name, revision: revisionOf(server), connection });
    return connection;
  }

  return {
    async find(tenantId, names) {
      if (names !== 'all' && names.size === 0) return [];
      const found = await findRegistrations(store, tenantId, names);
      keepOnly(tenantId, names, found);
      const tools = await Promise.all(found.map((server) => connectionOf(server).tools()));
      return tools.flat();
    },
    async close() {
      stopSweeping();
      const open = [...entries.values()];
      entries.clear();
      await Promise.all(open.map(({ connection }) => connection.close()));
    },
  };
}

function createConnection(options: McpServersOptions, { value, tenantId }: Registered<McpServer>): McpConnection {
  const { fetch, clock, toolsAllowStdio } = options;
  const { name } = value;
  const log = options.log.child({ tenantId, mcpServer: name });
  const open: OpenMcp = async (listeners, signal) => {
    if (value.transport === 'stdio' && !toolsAllowStdio)
      throw new Error('Starting MCP servers as programs is turned off.');
    return openMcpClient({ server: value, fetch, clock, log, ...listeners }, signal);
  };
  return new McpConnection({ name, open, clock, log });
}

function closeIdle(entries: Map<string, Entry>): void {
  for (const [key, { connection }] of entries) {
    if (connection.idleMs < IDLE_MS) continue;
    entries.delete(key);
    connection.close().catch(() => {});
  }
}

function keyOf({ tenantId, value }: Registered<McpServer>): string {
  return JSON.stringify([tenantId, value.name]);
}

/** Revisions begin anew when a name is registered again after it was deleted; the time tells those apart. */
function revisionOf({ revision, createdAt, updatedAt }: Registered<McpServer>): string {
  return JSON.stringify([revision, createdAt, updatedAt]);
}
