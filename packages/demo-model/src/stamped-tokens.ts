import type { ModelHandler } from './model-handler.ts';

const STAMP = /<(\d+\.\d{3})>/g;

export type StampedTokensOptions = {
  count: number;
  /** Milliseconds from one token to the next, against the start, so that late timers do not add up. Default 0. */
  intervalMs?: number;
  /** Milliseconds before the first token. Default 0. */
  firstDelayMs?: number;
};

/**
 * Milliseconds of the machine's monotonic clock (CLOCK_MONOTONIC), with three decimals of use: the same in every
 * process of one machine, so that a stamp can be compared in another process. Not the time of day.
 */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A handler for benchmarks: each token's text is the time it was sent at, `<123456.789> `, by `monotonicNow`. */
export function stampedTokens({ count, intervalMs = 0, firstDelayMs = 0 }: StampedTokensOptions): ModelHandler {
  return async (_call, reply) => {
    const start = monotonicNow() + firstDelayMs;
    for (let index = 0; index < count; index += 1) {
      const wait = start + index * intervalMs - monotonicNow();
      // Node's timers count in whole milliseconds; a shorter wait is no wait.
      if (wait >= 1) await reply.delay(wait);
      await reply.text(`<${monotonicNow().toFixed(3)}> `);
    }
  };
}

/** The send times, in `monotonicNow` milliseconds, of the tokens in this text. */
export function readStamps(text: string): number[] {
  return [...text.matchAll(STAMP)].map(([, stamp]) => Number(stamp));
}
