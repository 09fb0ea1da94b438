import type { Clock } from '../../ports/clock.ts';

/** The machine's own clock and timers. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener('abort', done, { once: true });
      }),
    after(ms, fn) {
      const timer = setTimeout(fn, ms).unref();
      return () => clearTimeout(timer);
    },
    every(ms, fn) {
      const timer = setInterval(fn, ms).unref();
      return () => clearInterval(timer);
    },
  };
}
