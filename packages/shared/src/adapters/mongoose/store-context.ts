import type { Logger } from '../../ports/logger.ts';
import type { Atomically } from './atomic-write.ts';
import type { Records } from './records.ts';
import type { StoreClock } from './server-clock.ts';
import type { Texts } from './texts.ts';

/** What the parts of the store share. */
export interface StoreContext {
  readonly records: Records;
  readonly texts: Texts;
  readonly atomically: Atomically;
  readonly clock: Pick<StoreClock, 'now'>;
  readonly log: Logger;
}
