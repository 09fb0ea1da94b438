import type { Agent, AgentSettings } from '../domain/agent.ts';
import type { Page, PageQuery } from '../domain/page.ts';
import type { Registered } from '../domain/registration.ts';

export interface Put<T> {
  readonly value: T;
  /** False: one with this id was there and is replaced. */
  readonly created: boolean;
}

/** Agents of a tenant. Unknown ids and other tenants' ids read as null. */
export interface AgentStore {
  /** Stores settings as a new revision; the same settings again make none. */
  put(tenantId: string, id: string, settings: AgentSettings): Promise<Put<Agent>>;
  /** The newest revision; null if unknown or deleted. */
  get(tenantId: string, id: string): Promise<Agent | null>;
  /** A revision that turns may have pinned; null if unknown or the agent was deleted. */
  getRevision(tenantId: string, id: string, revision: number): Promise<Agent | null>;
  /** By id, ascending. */
  list(tenantId: string, page: PageQuery): Promise<Page<Agent>>;
  /** False if there was none. Revisions of an agent that is put again later go on growing. */
  delete(tenantId: string, id: string): Promise<boolean>;
}

/** Things registered by name: HTTP tools, MCP servers. */
export interface RegistrationStore<T> {
  put(tenantId: string, name: string, value: T): Promise<Put<Registered<T>>>;
  get(tenantId: string, name: string): Promise<Registered<T> | null>;
  /** By name, ascending. */
  list(tenantId: string, page: PageQuery): Promise<Page<Registered<T>>>;
  delete(tenantId: string, name: string): Promise<boolean>;
}
