import type { RecordChange, RootChange } from './atomic-write.ts';
import type { FieldValues, RecordDocument, RecordFields } from './records.ts';

interface Update {
  readonly $set: FieldValues & { readonly version?: number };
  readonly $unset?: Readonly<Record<string, 1>>;
}

interface Filter extends Omit<FieldValues, 'createdAt'> {
  readonly _id?: string;
  readonly version?: number | { readonly $lt: number };
  readonly createdAt?: number | { readonly $lte: number };
}

/** One statement of a bulk. */
export type Operation =
  | { insertOne: { document: RecordDocument } }
  | { updateOne: { filter: Filter; update: Update; upsert: boolean } }
  | { updateMany: { filter: Filter; update: Update } };

/** Finds nothing, or an id that is taken, where the root has another version than the change was decided on. */
export function rootOperation({ id, version, set, unset }: RootChange): Operation {
  if (version === 0) return insertion(id, 1, set);
  return { updateOne: { filter: { _id: id, version }, update: updateOf(set, unset, version + 1), upsert: false } };
}

/** Within a transaction: what was read cannot have changed. */
export function changeOperation(change: RecordChange): Operation {
  switch (change.kind) {
    case 'add':
      return insertion(change.id, change.version, change.set);
    case 'put': {
      const { id, set, unset, version } = change;
      return { updateOne: { filter: { _id: id }, update: updateOf(set, unset, version), upsert: true } };
    }
    case 'each':
      return updateEach(change);
  }
}

/**
 * The same for changes that may be carried out more than once, by several processes, and after later ones: a record with
 * this version or a greater one stays as it is. Where there is one, the insertion that is tried then finds its id taken.
 */
export function repeatableOperation(change: RecordChange): Operation {
  if (change.kind === 'each') return updateEach(change);
  const { id, set, unset, version } = change;
  const filter = { _id: id, version: { $lt: version } };
  return { updateOne: { filter, update: updateOf(set, unset, version), upsert: true } };
}

function insertion(_id: string, version: number, set: FieldValues): Operation {
  return { insertOne: { document: { ...set, _id, version } } };
}

function updateEach({ where, set, unset }: RecordChange & { kind: 'each' }): Operation {
  const { version, createdAt } = where.before ?? {};
  const filter = {
    ...where.fields,
    ...(version !== undefined && { version: { $lt: version } }),
    ...(createdAt !== undefined && { createdAt: { $lte: createdAt } }),
  };
  return { updateMany: { filter, update: updateOf(set, unset) } };
}

function updateOf(set: FieldValues, unset: readonly (keyof RecordFields)[] = [], version?: number): Update {
  return {
    $set: version === undefined ? set : { ...set, version },
    ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((field) => [field, 1])) }),
  };
}
