import type { HolderWrite } from '@turnwire/shared/domain/aggregate';
import { isAppError } from '@turnwire/shared/domain/errors';
import { type EventDraft, eventId, type NumberedEvent, type OutboxEntry, tokenOf } from '@turnwire/shared/domain/event';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { EventWriter } from '@turnwire/shared/ports/event-bus';

/** What a write to the store answers, with what is to be published. */
type Published<R> = R & { readonly outbox: readonly OutboxEntry[] };

/** A write to the store that answers with what is to be published. May be called again while the store is away. */
export type HolderStoreWrite<R> = (write: HolderWrite) => Promise<Published<R>>;

/**
 * All that the holder of one lease writes, in one order: events that only the log keeps (`emit`), and writes to the
 * store with the events that they make true (`commit`). Ids come from one counter, so commits never overlap, and what
 * is emitted while one is under way follows it. When the lease is lost, nothing more is written.
 */
export interface TurnJournal {
  emit(event: EventDraft): void;
  /**
   * First brings all that was emitted into the log, then writes, then publishes what the write put into the outbox.
   * While the store or the log is away it tries again until the signal aborts. Throws `lease_lost`, and `unavailable`
   * when a write took effect whose answer never came: its turn has to be taken up from the store.
   */
  commit<R>(write: HolderStoreWrite<R>): Promise<Published<R>>;
  /** Publishes what a claim found in the outbox. */
  publish(outbox: readonly OutboxEntry[]): void;
}

export interface JournalOptions {
  readonly token: number;
  readonly writer: EventWriter;
  readonly clock: Clock;
  /** Aborted when the lease is lost: ends the tries to reach a store or log that is away, and all that is emitted. */
  readonly signal: AbortSignal;
  /** The store or the log refused a write for the lease's sake. */
  readonly onLost: () => void;
  readonly onEvent: (type: string) => void;
}

const RETRY_MS = 250;

export function createTurnJournal(options: JournalOptions): TurnJournal {
  const { token, writer, clock, signal } = options;
  const held: EventDraft[] = [];
  let counter = 0;
  let publishedId = 0;
  let tail: Promise<unknown> = Promise.resolve();
  let committing = 0;

  function append(events: readonly NumberedEvent[]): void {
    if (signal.aborted) return;
    for (const { type } of events) options.onEvent(type);
    writer.append(events);
  }

  function publish(outbox: readonly OutboxEntry[]): void {
    const fresh = outbox.flatMap(({ id, event }) => (id !== null && id > publishedId ? [{ ...event, id }] : []));
    const last = fresh.at(-1)?.id;
    if (last === undefined) return;
    publishedId = last;
    if (tokenOf(last) === token) counter = last - eventId(token, 0);
    append(fresh);
  }

  function number(event: EventDraft): NumberedEvent {
    counter += 1;
    return { ...event, id: eventId(token, counter) };
  }

  async function whileAway<T>(attempt: () => Promise<T>): Promise<T> {
    for (let away: unknown = null; ; ) {
      try {
        return await attempt();
      } catch (error) {
        // The try whose answer was lost was the one that counted.
        if (away !== null && isAppError(error, 'transition_refused')) throw away;
        if (!isAppError(error, 'unavailable') || signal.aborted) throw error;
        away = error;
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  async function writeInTurn<R>(write: HolderStoreWrite<R>): Promise<Published<R>> {
    try {
      await whileAway(() => writer.flush());
      const result = await whileAway(() =>
        write({ token, nextEventId: eventId(token, counter + 1), publishedId: writer.confirmedId }),
      );
      publish(result.outbox);
      return result;
    } catch (error) {
      if (isAppError(error, 'lease_lost')) options.onLost();
      throw error;
    } finally {
      committing -= 1;
      if (committing === 0 && held.length > 0) append(held.splice(0).map(number));
    }
  }

  return {
    emit(event) {
      if (committing > 0) held.push(event);
      else append([number(event)]);
    },
    commit(write) {
      committing += 1;
      const result = tail.then(() => writeInTurn(write));
      tail = result.catch(() => undefined);
      return result;
    },
    publish,
  };
}
