import type { Ids } from '../ports/clock.ts';

/** Ids in the order of their making, and no jitter: the same test makes the same ones. */
export function createCountingIds(): Ids {
  let made = 0;
  return {
    next(kind) {
      made += 1;
      return `${kind}_${String(made).padStart(6, '0')}`;
    },
    random: () => 0,
  };
}
