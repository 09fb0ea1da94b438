import { ROLES, type Role } from '../domain/tenant.ts';

/** Who may call, and as whom. */
export interface ApiKey {
  readonly key: string;
  readonly tenantId: string;
  readonly role: Role;
}

const FORM = 'must look like key:tenant or key:tenant:role';

/** Reads `key:tenant[:role]`, comma-separated. Problems name an entry by its place, never by its key. */
export function parseApiKeys(value: string): {
  readonly keys: readonly ApiKey[];
  readonly problems: readonly string[];
} {
  const keys: ApiKey[] = [];
  const problems: string[] = [];
  for (const [index, entry] of value.split(',').entries()) {
    const at = `entry ${index + 1}`;
    const [key = '', tenantId = '', role = 'user', ...rest] = entry.trim().split(':');
    if (key === '' || rest.length > 0 || /\s/.test(key)) problems.push(`${at} ${FORM}`);
    else if (!/^[\w.@-]{1,100}$/.test(tenantId)) problems.push(`${at} ${FORM}; a tenant is letters, digits, _ . @ -`);
    else if (!isRole(role)) problems.push(`${at} has an unknown role; roles are ${ROLES.join(' and ')}`);
    else if (keys.some((known) => known.key === key)) problems.push(`${at} repeats the key of an earlier entry`);
    else keys.push({ key, tenantId, role });
  }
  return { keys, problems };
}

function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}
