import type { Clock } from '@turnwire/shared/ports/clock';

export interface MortalClock extends Clock {
  /** From now on no timer of this clock fires any more. */
  die(): void;
}

/** A process's view of a clock: when the process dies, its timers do too, while the clock goes on for the next one. */
export function createMortalClock(clock: Clock): MortalClock {
  let alive = true;
  const whileAlive = (fn: () => void) => () => {
    if (alive) fn();
  };
  return {
    now: () => clock.now(),
    sleep: (ms, signal) => clock.sleep(ms, signal).then(() => (alive ? undefined : new Promise(() => {}))),
    after: (ms, fn) => clock.after(ms, whileAlive(fn)),
    every: (ms, fn) => clock.every(ms, whileAlive(fn)),
    die() {
      alive = false;
    },
  };
}
