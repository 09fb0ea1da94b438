import type { Clock } from '../../ports/clock.ts';
import { EQUAL_SHARES, type FairShare, type JobKind, type JobQueue } from '../../ports/job-queue.ts';
import type { Logger } from '../../ports/logger.ts';
import { CallerConnection } from './caller-connection.ts';
import { checkServer } from './check-server.ts';
import { BullConsumer } from './consumer.ts';
import { BullLane } from './lane.ts';

export interface BullMqQueueOptions {
  /** `redis://` or, with TLS, `rediss://`. */
  readonly url: string;
  /** Of all keys. Default `turnwire`. */
  readonly prefix?: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of `turn` jobs. Default: equal, without a limit. */
  readonly fairShare?: FairShare;
}

/**
 * The queue of the distributed profile. It connects in the background, and again whenever Redis was away; until then
 * calls throw `unavailable` within about a second. Closing it leaves what runs as the death of the process would.
 */
export function createBullMqQueue(options: BullMqQueueOptions): JobQueue {
  const { url, prefix = 'turnwire', clock, log, fairShare = EQUAL_SHARES } = options;
  const connection = new CallerConnection(url, clock, log);
  const { client } = connection;
  const common = { client, prefix, clock, log };
  const lanes: Readonly<Record<JobKind, BullLane>> = {
    turn: new BullLane({ ...common, kind: 'turn', share: fairShare }),
    extraction: new BullLane({ ...common, kind: 'extraction', share: EQUAL_SHARES }),
  };
  const consumers = new Set<{ abandon(): void }>();
  client.once('ready', () => {
    checkServer(client, log).catch((error) => log.debug({ err: error }, 'Redis could not be asked what it is.'));
  });
  return {
    kind: 'bullmq',
    enqueue: (job, { delayMs = 0 } = {}) => connection.call(() => lanes[job.kind].enqueue(job, delayMs)),
    consume(kind, concurrency, handler) {
      connection.assertOpen();
      const isBehind = (ms: number) => connection.call(() => lanes[kind].isBehind(ms));
      const { slots } = lanes[kind];
      const consumer = new BullConsumer({ kind, concurrency, handler, url, prefix, clock, log, isBehind, slots });
      consumers.add(consumer);
      return consumer;
    },
    counts: (kind) => connection.call(() => lanes[kind].counts()),
    list: (kind, state, { offset, limit }) => connection.call(() => lanes[kind].list(state, offset, limit)),
    get: (kind, id) => connection.call(() => lanes[kind].get(id)),
    retry: (kind, id) => connection.call(() => lanes[kind].retry(id)),
    ping: () => connection.call(async () => void (await client.ping())),
    async close() {
      for (const consumer of consumers) consumer.abandon();
      for (const lane of Object.values(lanes)) lane.slots?.close();
      connection.close();
    },
  };
}
