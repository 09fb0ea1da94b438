import type { HttpTool, McpServer } from '../domain/registration.ts';
import type { AgentStore, RegistrationStore } from './config-store.ts';
import type { ExtractionStore, MemoryStore } from './memory-store.ts';
import type { SessionStore } from './session-store.ts';
import type { TurnStore } from './turn-store.ts';

/**
 * The one source of truth, as the small ports that its users need. All of them live in one database, and every
 * promise made to a client is durable when its method resolves.
 */
export interface Store {
  readonly agents: AgentStore;
  readonly tools: RegistrationStore<HttpTool>;
  readonly mcpServers: RegistrationStore<McpServer>;
  readonly sessions: SessionStore;
  readonly turns: TurnStore;
  readonly memories: MemoryStore;
  readonly extractions: ExtractionStore;
  /** What the store is, for `/readyz` and the log, such as `sqlite`. */
  readonly kind: string;
  /** Throws `unavailable` if the store does not answer. */
  ping(): Promise<void>;
  /** Removes expired idempotency keys, at most `limit`. Returns how many. */
  prune(limit: number): Promise<number>;
  /** Ends all use of the store; later calls throw `unavailable`. */
  close(): Promise<void>;
}
