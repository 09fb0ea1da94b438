export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The tenant that everything belongs to where no API key is configured. */
export const DEFAULT_TENANT = 'default';

/** Who calls: the tenant of the key and what the key may do. */
export interface Principal {
  readonly tenantId: string;
  readonly role: Role;
}

/** Names one session. Every read and write of one carries the tenant, so that no data crosses tenants. */
export interface SessionKey {
  readonly tenantId: string;
  readonly sessionId: string;
}
