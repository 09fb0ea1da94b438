import { type KeyPrefixOptions, type QueueBaseOptions, QueueKeys, RedisConnection, RedisQueueBackend } from 'bullmq';
import { Redis } from 'ioredis';
import type { Logger } from '../../ports/logger.ts';
import { jobScripts } from './job-scripts.ts';
import { reconnectDelay } from './reconnect-delay.ts';

/** More than the 10 s for which BullMQ waits for a job in one command at most. */
const SILENCE_MS = 15_000;

/** The two connections of a worker: it waits for jobs on one and does everything else on the other. */
export interface WorkerConnection {
  readonly commands: Redis;
  /** Makes what BullMQ works through, for the constructor of its worker. */
  openBackend(queueName: string, options: QueueBaseOptions & KeyPrefixOptions): RedisQueueBackend;
  /** At once; what is under way fails. */
  close(): void;
}

/**
 * Connections for one who has nothing better to do than wait until Redis is back. They belong to us and not to BullMQ,
 * which waits for a server that is away before it closes its own.
 */
export function openWorkerConnection(url: string, log: Logger): WorkerConnection {
  const clients = [open(url, log), open(url, log)] as const;
  const [commands, blocking] = clients;
  return {
    commands,
    openBackend(queueName, options) {
      const keys = new QueueKeys(options.prefix);
      // What a connection of its own would find out by INFO, and what a failure of that would make it useless for.
      const given = { shared: true, skipVersionCheck: true };
      const waiting = new RedisConnection(blocking, { ...given, blocking: true });
      // Without it a wait for a delayed job lasts whole seconds. Once ready: until then BullMQ sets it itself.
      const allowFractions = () => {
        waiting.capabilities = { ...waiting.capabilities, canDoubleTimeout: true };
      };
      waiting.client.then(allowFractions, (error) => log.debug({ err: error }, 'A worker was closed early.'));
      return new RedisQueueBackend(
        new RedisConnection(commands, { ...given, blocking: false }),
        queueName,
        keys.getKeys(queueName),
        (type) => keys.toKey(queueName, type),
        options,
        waiting,
      );
    },
    close() {
      // A second time, its timer would hold the process for two seconds.
      for (const client of clients) if (client.status !== 'end') client.disconnect();
    },
  };
}

function open(url: string, log: Logger): Redis {
  const client = new Redis(url, {
    scripts: jobScripts,
    retryStrategy: reconnectDelay,
    maxRetriesPerRequest: null, // BullMQ asks for it: commands wait until Redis is back
    socketTimeout: SILENCE_MS,
  });
  // The callers' connection says in the log that Redis is away.
  client.on('error', (error) => log.debug({ err: error }, 'A worker has lost Redis.'));
  return client;
}
