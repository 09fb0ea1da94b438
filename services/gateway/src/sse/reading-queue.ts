/**
 * Lets those who read the log in one after the other, one per round of the event loop: however many clients come back at
 * once, live events and requests wait for one page (about 2 ms) and not for all of them. Without it, 100 clients that
 * read 20,000 events each held up everything else for 6 s, since one that takes all at once need never be waited for.
 */
export class ReadingQueue {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the caller may read one page, or hand on what fits into its client. */
  admission(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#admit);
    });
  }

  readonly #admit = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#admit);
  };
}
