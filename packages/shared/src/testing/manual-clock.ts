import type { Clock } from '../ports/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time on; timers that fall due fire in order, each at its own time, and what they set off runs. */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that stands still until it is told to go on. */
export function createManualClock(start: number): ManualClock {
  const timers = new Set<Timer>();
  let now = start;
  let order = 0;

  function after(ms: number, fn: () => void): () => void {
    order += 1;
    const timer: Timer = { at: now + Math.max(0, ms), order, fire: fn };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  function every(ms: number, fn: () => void): () => void {
    // As timers of the platform do, never less than a millisecond: else `advance` would have no end.
    const interval = Math.max(1, ms);
    let cancel = after(interval, tick);
    function tick(): void {
      cancel = after(interval, tick);
      fn();
    }
    return () => cancel();
  }

  return {
    now: () => now,
    after,
    every,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = () => {
          cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const cancel = after(ms, done);
        signal?.addEventListener('abort', done, { once: true });
      }),
    async advance(ms) {
      const target = now + ms;
      await settled();
      for (let next = earliest(timers, target); next !== undefined; next = earliest(timers, target)) {
        timers.delete(next);
        now = Math.max(now, next.at);
        next.fire();
        await settled();
      }
      now = target;
    },
  };
}

function earliest(timers: ReadonlySet<Timer>, target: number): Timer | undefined {
  return [...timers]
    .filter(({ at }) => at <= target)
    .sort((a, b) => a.at - b.at || a.order - b.order)
    .at(0);
}

/** Lets everything run that waits for nothing but its turn. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
