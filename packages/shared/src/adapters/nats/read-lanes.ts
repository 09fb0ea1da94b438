/**
 * What one read brings at most is about 1 MB. A server gives a connection up that has 64 MB on their way, and with it all
 * that is live, so that only so many reads may be under way at once. It answers in a millisecond; the wait is short.
 */
const LANES = 32;

interface Waiter {
  readonly proceed: () => void;
  readonly fail: (error: unknown) => void;
}

/** Bounds how many reads this process has under way. */
export class ReadLanes {
  readonly #waiting: Waiter[] = [];
  #free = LANES;

  /** Reads when a lane is free. Where a read fails, those behind it fail with it: they would wait for the same silence. */
  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((proceed, fail) => this.#waiting.push({ proceed, fail }));
    try {
      return await read();
    } catch (error) {
      for (const { fail } of this.#waiting.splice(0)) fail(error);
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next.proceed();
    }
  }
}
