import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadinessCheck } from '../ports/readiness.ts';
import type { Persistence } from './open-persistence.ts';

/** Part of `/readyz`: longer than any of them takes to notice that its server is away. */
const PING_MS = 2000;

/** Asks store, queue and bus whether they answer. */
export function createReadinessCheck({ store, queue, bus }: Persistence, clock: Clock, log: Logger): ReadinessCheck {
  async function answers(part: { readonly kind: string; ping(): Promise<void> }): Promise<boolean> {
    const limit = new AbortController();
    const late = clock.sleep(PING_MS, limit.signal).then(() => 'no answer');
    try {
      const failure = await Promise.race([part.ping().then(() => null), late]);
      if (failure !== null) log.warn({ part: part.kind }, 'A part gives no answer: not ready.');
      return failure === null;
    } catch (error) {
      log.warn({ part: part.kind, err: error }, 'A part cannot be reached: not ready.');
      return false;
    } finally {
      limit.abort();
    }
  }
  return async () => {
    const [isStored, isQueued, isBused] = await Promise.all([answers(store), answers(queue), answers(bus)]);
    return {
      store: { kind: store.kind, ok: isStored },
      queue: { kind: queue.kind, ok: isQueued },
      bus: { kind: bus.kind, ok: isBused },
    };
  };
}
