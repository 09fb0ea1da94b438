import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import { busUnavailable } from './nats-failure.ts';
import { streamSubjects } from './subjects.ts';

const MAX_BYTES = 4 * 1024 ** 3;
const LEAST_BYTES = 64 * 1024 ** 2;
/** So that one session that never stops does not drive all others out of the log. */
const MAX_MESSAGES_PER_SESSION = 200_000;

const NAME_IS_TAKEN = 10_058;
const TOO_LITTLE_STORAGE: readonly number[] = [10_002, 10_023, 10_047];

const START_TRIES = 20;
const START_PAUSE_MS = 250;

/** There is a stream of this name that the program can't work with, and must not replace. */
class UnusableStream extends Error {}

export interface StreamOptions {
  /** Name of the stream, and the first token of its subjects. */
  readonly prefix: string;
  readonly retentionMs: number;
}

/**
 * Makes sure that the stream is there and is one that this program can work with; answers when it was made. What does
 * not matter to the program stays as the operator has set it (bytes, replicas, placement); how long events are kept is
 * ours.
 */
export async function ensureStream(jsm: JetStreamManager, options: StreamOptions, log: Logger): Promise<string> {
  const { prefix, retentionMs } = options;
  const { config, created } = (await findStream(jsm, prefix)) ?? (await addStream(jsm, options, log));
  const { republish } = streamSubjects(prefix);
  const isOurs = config.republish?.src === republish.src && config.republish.dest === republish.dest;
  // Neither can be added to a stream later, and the live path is nothing without them.
  if (!isOurs || !config.allow_direct) {
    throw new UnusableStream(`The NATS stream ${prefix} was not made by Turnwire: it lacks republish or allow_direct.`);
  }
  if (config.max_age !== nanos(retentionMs)) {
    await jsm.streams.update(prefix, { max_age: nanos(retentionMs) });
    log.info({ stream: prefix, retentionMs }, 'The NATS stream keeps events for another time from now on.');
  }
  return created;
}

/** As {@link ensureStream}, but waits some seconds for a server that is only starting: clients may connect before that. */
export async function awaitStream(
  jsm: JetStreamManager,
  options: StreamOptions,
  clock: Clock,
  log: Logger,
): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ensureStream(jsm, options, log);
    } catch (error) {
      if (error instanceof UnusableStream) throw error;
      if (tries === START_TRIES) throw busUnavailable(error);
      await clock.sleep(START_PAUSE_MS);
    }
  }
}

async function findStream(jsm: JetStreamManager, name: string): Promise<StreamInfo | null> {
  try {
    return await jsm.streams.info(name);
  } catch (error) {
    if (codeOf(error) === JetStreamApiCodes.StreamNotFound) return null;
    throw error;
  }
}

async function addStream(jsm: JetStreamManager, options: StreamOptions, log: Logger): Promise<StreamInfo> {
  const { prefix } = options;
  for (let maxBytes = MAX_BYTES; ; maxBytes /= 2) {
    try {
      const added = await jsm.streams.add(configOf(options, maxBytes));
      log.info({ stream: prefix, maxBytes }, 'Made the NATS stream for events.');
      return added;
    } catch (error) {
      const code = codeOf(error);
      const other = code === NAME_IS_TAKEN ? await findStream(jsm, prefix) : null;
      if (other !== null) return other; // another process was faster
      if (!TOO_LITTLE_STORAGE.includes(code) || maxBytes <= LEAST_BYTES) throw error;
    }
  }
}

function configOf({ prefix, retentionMs }: StreamOptions, maxBytes: number) {
  const { stored, republish } = streamSubjects(prefix);
  return {
    name: prefix,
    subjects: stored,
    republish,
    allow_direct: true,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(retentionMs),
    max_bytes: maxBytes,
    max_msgs_per_subject: MAX_MESSAGES_PER_SESSION,
  };
}

function codeOf(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0;
}
