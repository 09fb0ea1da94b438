import { type Connection, type Model, Schema } from 'mongoose';
import { jsonEqual } from '../../domain/json.ts';
import type { Page, PageQuery } from '../../domain/page.ts';
import type { Registered } from '../../domain/registration.ts';
import type { Put, RegistrationStore } from '../../ports/config-store.ts';
import { decodeCursor, pageOf } from '../cursor.ts';
import { registrationId } from './record-key.ts';
import { Conflict, isDuplicate, retryConflicts } from './retry.ts';
import type { StoreClock } from './server-clock.ts';

export type RegistrationKind = 'agent' | 'tool' | 'mcp_server';

export interface RegistrationDocument {
  _id: string;
  kind: RegistrationKind;
  tenantId: string;
  name: string;
  revision: number;
  /** The first one since it was put after a deletion. */
  firstRevision: number;
  createdAt: number;
  updatedAt: number;
  /** The value as JSON; null: deleted. It stays, since revisions go on growing. */
  json: string | null;
}

const schema = new Schema<RegistrationDocument>(
  {
    _id: { type: String, required: true },
    kind: String,
    tenantId: String,
    name: String,
    revision: Number,
    firstRevision: Number,
    createdAt: Number,
    updatedAt: Number,
    json: String,
  },
  { collection: 'registrations', versionKey: false, id: false, strict: 'throw', strictQuery: 'throw' },
);
schema.index({ kind: 1, tenantId: 1, name: 1 });

export type Registrations = Model<RegistrationDocument>;

export function registrationsOf(connection: Connection): Registrations {
  return connection.model<RegistrationDocument, Registrations>('Registration', schema);
}

export interface RegistrationKey {
  readonly kind: RegistrationKind;
  readonly tenantId: string;
  readonly name: string;
}

/** Called before a value is replaced, with the document that has it. Does no harm if the replacement never comes. */
type Keep = (before: RegistrationDocument) => Promise<void>;

/**
 * Things by name, of one kind. The same value again makes no new revision. A change is one document with the revision
 * that it was decided on, so of two at once one is decided again.
 */
export function createRegistrations<T>(
  documents: Registrations,
  clock: Pick<StoreClock, 'now'>,
  kind: RegistrationKind,
): RegistrationStore<T> {
  return {
    put: (tenantId, name, value) => putRegistration(documents, clock, { kind, tenantId, name }, value),
    get: (tenantId, name) => findRegistration<T>(documents, { kind, tenantId, name }),
    async list(tenantId, page) {
      const { items, nextCursor } = await listNamed<T>(documents, kind, tenantId, page);
      return { items: items.map(({ registration }) => registration), nextCursor };
    },
    delete: (tenantId, name) => deleteRegistration(documents, { kind, tenantId, name }),
  };
}

export function putRegistration<T>(
  documents: Registrations,
  clock: Pick<StoreClock, 'now'>,
  key: RegistrationKey,
  value: T,
  keep: Keep = async () => undefined,
): Promise<Put<Registered<T>>> {
  const _id = registrationId(key.kind, key.tenantId, key.name);
  return retryConflicts(async () => {
    const document = await documents.findById(_id).lean();
    const before = document === null ? null : registered<T>(document);
    if (before !== null && jsonEqual(before.value, value)) return { value: before, created: false };
    if (document !== null && before !== null) await keep(document);
    const revision = (document?.revision ?? 0) + 1;
    const now = clock.now();
    const after: RegistrationDocument = {
      ...{ _id, ...key, revision, json: JSON.stringify(value), updatedAt: now },
      createdAt: before?.createdAt ?? now,
      firstRevision: before === null ? revision : (document?.firstRevision ?? revision),
    };
    if (!(await replace(documents, document, after))) throw new Conflict(_id);
    return { value: { ...fieldsOf(after), value }, created: before === null };
  });
}

/** False: it is not as it was read any more. */
async function replace(
  documents: Registrations,
  before: RegistrationDocument | null,
  { _id, ...after }: RegistrationDocument,
): Promise<boolean> {
  // A deletion takes the value and leaves the revision; with both as they were, nothing has changed.
  const json = before?.json == null ? null : { $ne: null };
  const filter = { _id, revision: before?.revision ?? 0, json };
  try {
    const { matchedCount, upsertedCount } = await documents.updateOne(
      filter,
      { $set: after },
      { upsert: before === null },
    );
    return matchedCount + upsertedCount === 1;
  } catch (error) {
    if (isDuplicate(error)) return false; // another put it first
    throw error;
  }
}

export async function findRegistration<T>(
  documents: Registrations,
  key: RegistrationKey,
): Promise<Registered<T> | null> {
  const document = await documents.findById(registrationId(key.kind, key.tenantId, key.name)).lean();
  return document === null ? null : registered<T>(document);
}

export async function deleteRegistration(documents: Registrations, key: RegistrationKey): Promise<boolean> {
  const _id = registrationId(key.kind, key.tenantId, key.name);
  const { modifiedCount } = await documents.updateOne({ _id, json: { $ne: null } }, { $set: { json: null } });
  return modifiedCount > 0;
}

/** A registration with its name, which a value need not contain. */
export interface Named<T> {
  readonly name: string;
  readonly registration: Registered<T>;
}

export async function listNamed<T>(
  documents: Registrations,
  kind: RegistrationKind,
  tenantId: string,
  page: PageQuery,
): Promise<Page<Named<T>>> {
  const [after] = decodeCursor(page.cursor, ['string']) ?? [''];
  const found = await documents
    .find({ kind, tenantId, name: { $gt: after }, json: { $ne: null } })
    .sort({ name: 1 })
    .limit(page.limit + 1)
    .lean();
  const named = found.flatMap((document) => {
    const registration = registered<T>(document);
    return registration === null ? [] : [{ name: document.name, registration }];
  });
  return pageOf(named, page.limit, ({ name }) => [name]);
}

/** Null for what was deleted. */
export function registered<T>(document: RegistrationDocument): Registered<T> | null {
  if (document.json === null) return null;
  return { ...fieldsOf(document), value: JSON.parse(document.json) as T };
}

function fieldsOf({ tenantId, revision, createdAt, updatedAt }: RegistrationDocument) {
  return { tenantId, revision, createdAt, updatedAt };
}
