import type { HttpTool, Registered } from '@turnwire/shared/domain/registration';
import type { RegistrationStore } from '@turnwire/shared/ports/config-store';
import type { Tool } from '@turnwire/shared/ports/tool';
import { findRegistrations } from '../find-registrations.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import { createHttpTool } from './create-http-tool.ts';

export interface HttpTools {
  find(tenantId: string, names: ReadonlySet<string> | 'all'): Promise<readonly Tool[]>;
}

const MAX_KEPT = 1_000;

/**
 * Tools registered over the API, looked up each time. The same revision is the same object, since what is known of a
 * tool's schema is kept by object.
 */
export function createHttpTools(store: RegistrationStore<HttpTool>, fetch: GuardedFetch['fetch']): HttpTools {
  const kept = new Map<string, Tool>();
  const toTool = ({ tenantId, value, revision, updatedAt }: Registered<HttpTool>) => {
    const key = JSON.stringify([tenantId, value.name, revision, updatedAt]);
    const tool = kept.get(key) ?? createHttpTool(value, fetch);
    kept.delete(key);
    kept.set(key, tool);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return tool;
  };
  return {
    async find(tenantId, names) {
      return (await findRegistrations(store, tenantId, names)).map(toTool);
    },
  };
}
