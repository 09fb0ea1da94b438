import type { Registered } from '@turnwire/shared/domain/registration';
import type { RegistrationStore } from '@turnwire/shared/ports/config-store';

const PAGE = 200;

/** What is registered under these names, or all of a tenant. */
export async function findRegistrations<T>(
  store: RegistrationStore<T>,
  tenantId: string,
  names: ReadonlySet<string> | 'all',
): Promise<readonly Registered<T>[]> {
  if (names === 'all') return listAll(store, tenantId);
  const found = await Promise.all([...names].map((name) => store.get(tenantId, name)));
  return found.filter((one) => one !== null);
}

async function listAll<T>(store: RegistrationStore<T>, tenantId: string): Promise<readonly Registered<T>[]> {
  const found: Registered<T>[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.list(tenantId, { limit: PAGE, cursor });
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return found;
}
