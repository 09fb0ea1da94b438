import type { Turn } from '@turnwire/shared/domain/turn';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Hold } from './hold.ts';

export interface TurnTimer {
  /** Stops the work when the turn has been under a lease for `ms` in all. */
  limit(ms: number): void;
  close(): void;
}

/** Counts leased time only: what a turn waits for a worker or a person is not its own. */
export function limitTurnTime(clock: Clock, hold: Hold, turn: Turn): TurnTimer {
  const startedAt = clock.now();
  let cancel = (): void => undefined;
  return {
    limit(ms) {
      cancel();
      const left = ms - turn.leasedMs - (clock.now() - startedAt);
      cancel = clock.after(Math.max(0, left), () => hold.stop('timeout'));
    },
    close: () => cancel(),
  };
}
