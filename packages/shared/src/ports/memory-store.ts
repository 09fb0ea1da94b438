import type { Memory, MemoryChanges, MemoryPatch } from '../domain/memory.ts';
import type { Message } from '../domain/message.ts';
import type { Page, PageQuery } from '../domain/page.ts';
import type { Turn } from '../domain/turn.ts';
import type { IdempotencyKey, Replayable } from './session-store.ts';

/** Whose memories. */
export interface UserKey {
  readonly tenantId: string;
  readonly userId: string;
}

/** Memories of users. Another tenant's read as absent. Deleting leaves a tombstone (see {@link ExtractionStore}). */
export interface MemoryStore {
  add(memory: Memory, idempotency: IdempotencyKey | null): Promise<Replayable<Memory>>;
  get(tenantId: string, id: string): Promise<Memory | null>;
  /** Newest first; only memories that are valid now. */
  list(user: UserKey, page: PageQuery): Promise<Page<Memory>>;
  /** All valid memories of a user for scoring, newest first, at most `limit`. */
  valid(user: UserKey, limit: number): Promise<readonly Memory[]>;
  /** As `patchMemory` says. */
  update(tenantId: string, id: string, patch: MemoryPatch): Promise<Memory | null>;
  delete(tenantId: string, id: string): Promise<boolean>;
  /** How many were deleted. */
  deleteAll(user: UserKey): Promise<number>;
}

/** A completed turn whose memories were not extracted yet. */
export interface PendingExtraction {
  readonly turn: Turn;
  /** The turn's own messages, by `seq`. */
  readonly messages: readonly Message[];
  /** Texts of this user's deleted memories: not to be brought back. */
  readonly tombstones: readonly string[];
}

/** Extractions owed by completed turns: serial per user, in the order of the turns' ends. */
export interface ExtractionStore {
  /** The user's oldest one that is due; null if there is none. */
  next(user: UserKey): Promise<PendingExtraction | null>;
  /**
   * Stores what was extracted and marks the turn's extraction as done, in one write. False, and nothing stored, when it
   * is pending no longer or an older one of the user is: so a repeated or overtaken job does no harm.
   */
  complete(turn: Turn, changes: MemoryChanges): Promise<boolean>;
  /** Gives an extraction up, so that the user's next one can go on. False when it is pending no longer. */
  giveUp(turn: Turn): Promise<boolean>;
  /** Users with pending extractions, longest pending first. As `TurnStore.takeDue`. */
  takeDue(limit: number, retryAfterMs: number): Promise<readonly UserKey[]>;
}
