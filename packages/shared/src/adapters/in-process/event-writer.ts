import { leaseLost, unavailable } from '../../domain/errors.ts';
import type { NumberedEvent } from '../../domain/event.ts';
import type { EventWriter } from '../../ports/event-bus.ts';
import type { EventChannel } from './event-channel.ts';
import type { EventChannels } from './event-channels.ts';
import type { GroupCommit } from './group-commit.ts';

export interface EventWriterOptions {
  readonly channel: EventChannel;
  readonly channels: EventChannels;
  readonly commit: GroupCommit;
  /** What the channel knows the writer by. */
  readonly writer: symbol;
  readonly token: number;
}

/** A writer that the channel has admitted; it may write until another one is. */
export function createEventWriter({ channel, channels, commit, writer, token }: EventWriterOptions): EventWriter {
  return {
    get confirmedId() {
      return channel.loggedId;
    },
    append(events: readonly NumberedEvent[]) {
      if (commit.closed || !channel.isWriter(writer)) return;
      channel.take(events);
      if (channel.pending.length > 0) commit.add(channel);
    },
    async flush() {
      if (!channel.isWriter(writer)) throw leaseLost(channel.key.sessionId, token);
      if (commit.closed) throw unavailable('The event bus', new Error('the bus is closed'));
      if (channel.pending.length > 0) commit.write();
    },
    close() {
      channel.leave(writer);
      channels.release(channel);
    },
  };
}
