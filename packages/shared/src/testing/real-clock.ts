import { createSystemClock } from '../adapters/system/clock.ts';
import type { Clock } from '../ports/clock.ts';

/** The machine's time, for tests that talk to real servers and processes. */
export const realClock: Clock = createSystemClock();
