import { randomBytes } from 'node:crypto';
import type { Clock, Ids } from '../../ports/clock.ts';

/** Ids from the time (48 bits) and the system's random source (80 bits), in hexadecimal. */
export function createSystemIds(clock: Clock): Ids {
  return {
    next: (kind) => `${kind}_${clock.now().toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`,
    random: () => Math.random(),
  };
}
