import { jsonEqual } from '../../domain/json.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import type { Registered } from '../../domain/registration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Put, RegistrationStore } from '../../ports/config-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import type { Database, Row } from './database.ts';
import { recordOf } from './document.ts';

export type RegistrationKind = 'agent' | 'tool' | 'mcp_server';

const COLUMNS = 'tenant_id, name, revision, created_at, updated_at, doc';

/**
 * Things by name, of one kind. The same value again makes no new revision; a deleted thing's row stays without its
 * value, so that revisions go on growing and a cache that knows one by its revision never mistakes it.
 */
export function createRegistrations<T>(db: Database, clock: Clock, kind: RegistrationKind): RegistrationStore<T> {
  return {
    put: async (tenantId, name, value) => putRegistration(db, clock.now(), { kind, tenantId, name }, value),
    get: async (tenantId, name) => findRegistration<T>(db, { kind, tenantId, name }),
    list: async (tenantId, page) => listRegistrations<T>(db, kind, tenantId, page),
    delete: async (tenantId, name) => deleteRegistration(db, { kind, tenantId, name }),
  };
}

interface RegistrationKey {
  readonly kind: RegistrationKind;
  readonly tenantId: string;
  readonly name: string;
}

export function putRegistration<T>(db: Database, now: number, key: RegistrationKey, value: T): Put<Registered<T>> {
  const { kind, tenantId, name } = key;
  return db.transaction(() => {
    const row = selectRow(db, key);
    const before = row === undefined ? null : registered<T>(row);
    if (before !== null && jsonEqual(before.value, value)) return { value: before, created: false };
    const revision = Number(row?.revision ?? 0) + 1;
    const after: Registered<T> = { value, tenantId, revision, createdAt: before?.createdAt ?? now, updatedAt: now };
    db.run(
      `INSERT INTO registrations (kind, tenant_id, name, revision, created_at, updated_at, doc)
       VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, tenant_id, name) DO UPDATE SET revision = excluded.revision,
         created_at = excluded.created_at, updated_at = excluded.updated_at, doc = excluded.doc`,
      ...[kind, tenantId, name, revision, after.createdAt, now, JSON.stringify(value)],
    );
    return { value: after, created: before === null };
  });
}

export function findRegistration<T>(db: Database, key: RegistrationKey): Registered<T> | null {
  const row = selectRow(db, key);
  return row === undefined ? null : registered<T>(row);
}

export function deleteRegistration(db: Database, { kind, tenantId, name }: RegistrationKey): boolean {
  const sql = 'UPDATE registrations SET doc = NULL WHERE kind = ? AND tenant_id = ? AND name = ? AND doc IS NOT NULL';
  return db.run(sql, kind, tenantId, name) > 0;
}

function listRegistrations<T>(
  db: Database,
  kind: RegistrationKind,
  tenantId: string,
  page: PageQuery,
): Page<Registered<T>> {
  return mapPage(listNamed<T>(db, kind, tenantId, page), ({ registration }) => registration);
}

/** A registration with its name, which a value need not contain. */
export interface Named<T> {
  readonly name: string;
  readonly registration: Registered<T>;
}

export function listNamed<T>(db: Database, kind: RegistrationKind, tenantId: string, page: PageQuery): Page<Named<T>> {
  const [after] = decodeCursor(page.cursor, ['string']) ?? [''];
  const rows = db.all(
    `SELECT ${COLUMNS} FROM registrations
     WHERE kind = ? AND tenant_id = ? AND name > ? AND doc IS NOT NULL ORDER BY name LIMIT ?`,
    ...[kind, tenantId, after, page.limit + 1],
  );
  const found = rows.flatMap((row) => {
    const registration = registered<T>(row);
    return registration === null ? [] : [{ name: String(row.name), registration }];
  });
  return pageOf(found, page.limit, ({ name }) => [name]);
}

export function mapPage<A, B>(page: Page<A>, map: (item: A) => B): Page<B> {
  return { items: page.items.map(map), nextCursor: page.nextCursor };
}

function selectRow(db: Database, { kind, tenantId, name }: RegistrationKey): Row | undefined {
  const sql = `SELECT ${COLUMNS} FROM registrations WHERE kind = ? AND tenant_id = ? AND name = ?`;
  return db.get(sql, kind, tenantId, name);
}

/** Null for what was deleted. */
function registered<T>(row: Row): Registered<T> | null {
  if (row.doc === null) return null;
  return {
    value: recordOf<T>(row),
    tenantId: String(row.tenant_id),
    revision: Number(row.revision),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
