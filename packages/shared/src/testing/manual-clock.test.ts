import { describe, expect, test } from 'vitest';
import { createManualClock } from './manual-clock.ts';

describe('the manual clock', () => {
  test('fires timers in order, each at its own time', async () => {
    const clock = createManualClock(1000);
    const fired: string[] = [];
    clock.after(30, () => fired.push(`b ${clock.now()}`));
    clock.after(10, () => fired.push(`a ${clock.now()}`));
    clock.after(30, () => fired.push(`c ${clock.now()}`));
    const cancel = clock.after(20, () => fired.push('cancelled'));
    cancel();
    await clock.advance(29);
    expect(fired).toEqual(['a 1010']);
    await clock.advance(1);
    expect(fired).toEqual(['a 1010', 'b 1030', 'c 1030']);
    expect(clock.now()).toBe(1030);
  });

  test('lets what a timer sets off run before the next one', async () => {
    const clock = createManualClock(0);
    const seen: number[] = [];
    const sleeper = (async () => {
      for (let i = 0; i < 3; i += 1) {
        await clock.sleep(10);
        seen.push(clock.now());
      }
    })();
    await clock.advance(100);
    await sleeper;
    expect(seen).toEqual([10, 20, 30]);
  });

  test('repeats until stopped, and an aborted sleep ends at once', async () => {
    const clock = createManualClock(0);
    let ticks = 0;
    const stop = clock.every(10, () => {
      ticks += 1;
      if (ticks === 3) stop();
    });
    const controller = new AbortController();
    const sleeping = clock.sleep(1_000_000, controller.signal);
    await clock.advance(100);
    expect(ticks).toBe(3);
    controller.abort();
    await sleeping;
    await clock.sleep(1_000_000, controller.signal);
  });
});
