import type { Store } from '../ports/store.ts';

/** A store of its own for one test, with the store's clock in the test's hand. */
export interface StoreHarness {
  readonly store: Store;
  /** Moves the store's clock on: at once, or, where it is a server's, by waiting. */
  advance(ms: number): Promise<void>;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
}

export type MakeStore = () => Promise<StoreHarness>;
