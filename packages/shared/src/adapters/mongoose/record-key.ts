import type { SessionKey } from '../../domain/tenant.ts';
import type { UserKey } from '../../ports/memory-store.ts';

/**
 * Ids of records: what it is, and the parts that name it. Where one query reads two roots, their order counts (see
 * `records.ts`): session < user < write.
 */
function keyOf(kind: string, ...parts: readonly (string | number)[]): string {
  return [kind, ...parts].map((part) => String(part).replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
}

export const sessionId = ({ tenantId, sessionId: id }: SessionKey) => keyOf('session', tenantId, id);
export const turnId = (tenantId: string, id: string) => keyOf('turn', tenantId, id);
export const callId = (tenantId: string, turn: string, step: number, position: number) =>
  keyOf('call', tenantId, turn, step, position);
export const messageId = (key: SessionKey, seq: number) => keyOf('message', key.tenantId, key.sessionId, seq);
export const userId = ({ tenantId, userId: id }: UserKey) => keyOf('user', tenantId, id);
export const memoryId = (tenantId: string, id: string) => keyOf('memory', tenantId, id);
export const tombstoneId = (user: UserKey, textHash: string) =>
  keyOf('tombstone', user.tenantId, user.userId, textHash);
export const writeId = (tenantId: string, key: string) => keyOf('write', tenantId, key);
export const registrationId = (kind: string, tenantId: string, name: string) => keyOf(kind, tenantId, name);
export const revisionId = (tenantId: string, id: string, revision: number) => keyOf('agent', tenantId, id, revision);

/** Whose root an id is. */
export function userOf(id: string): UserKey {
  const [, tenantId = '', user = ''] = id.split('/').map((part) => part.replaceAll('%2F', '/').replaceAll('%25', '%'));
  return { tenantId, userId: user };
}
