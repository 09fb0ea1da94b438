import type { Redis } from 'ioredis';
import type { Logger } from '../../ports/logger.ts';

/** Of the commands that are used, LPOS is the youngest: it came with 6.0.6; BullMQ asks for 6.2. */
const OLDEST = [6, 2] as const;

/** Warns of a server on which jobs can get lost, or which is too old. Throws what ioredis throws. */
export async function checkServer(client: Redis, log: Logger): Promise<void> {
  const info = new Map(
    (await client.info()).split('\r\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name, value.join(':')];
    }),
  );
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    log.warn({ policy }, 'Redis may evict jobs when its memory is full: set maxmemory-policy to noeviction.');
  }
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    log.warn({ version }, `Redis is older than ${OLDEST.join('.')}, with which the queue was not tested.`);
  }
}
