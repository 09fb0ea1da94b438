import type { ClientSession } from 'mongoose';
import type { FieldValues, RecordFields } from './records.ts';

/** New values of a record's fields, and the fields that it loses. What is named in neither stays. */
export interface FieldChange {
  readonly set: FieldValues;
  readonly unset?: readonly (keyof RecordFields)[];
}

/** The record whose version decides whether a write comes to pass. */
export interface RootChange extends FieldChange {
  readonly id: string;
  /** As it was read; 0 where there was none. */
  readonly version: number;
}

/** What a write does beside its root. */
export type RecordChange =
  /** Makes a record, or (`put`) changes the one that is there; `version` is what it has then. */
  | ({ readonly kind: 'add' | 'put'; readonly id: string; readonly version: number } & FieldChange)
  /** Changes every record that fits. */
  | ({ readonly kind: 'each'; readonly where: Condition } & FieldChange);

/** Values that fields have; `before`: and these at most. */
export interface Condition {
  readonly fields: FieldValues & { readonly _id?: string };
  readonly before?: { readonly version?: number; readonly createdAt?: number };
}

/** One attempt at reading, deciding and writing. */
export interface Attempt {
  /** For the reads of the attempt; null: there are no transactions. */
  readonly session: ClientSession | null;
  /**
   * Writes all of it or nothing, and nothing where the root has another version by now: then the attempt is repeated.
   * At most once per attempt.
   */
  commit(root: RootChange, changes: readonly RecordChange[]): Promise<void>;
  /** For an attempt that writes nothing: that what it read was all of one moment. Else the attempt is repeated. */
  confirm(root: { readonly id: string; readonly version: number }): Promise<void>;
}

/** Runs attempts until one goes through. */
export type Repeatedly = <R>(attempt: (attempt: Attempt) => Promise<R>) => Promise<R>;

/** The same. `about` is the id of the root, or of what leads to it. */
export type Atomically = <R>(about: string, attempt: (attempt: Attempt) => Promise<R>) => Promise<R>;
