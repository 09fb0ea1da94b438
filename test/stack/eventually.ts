import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats a check until it passes, for what happens soon but not at once. Throws what it threw last. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 15_000): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(5);
  }
}
