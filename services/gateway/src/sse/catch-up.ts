import type { SessionEvent } from '@turnwire/shared/domain/event';
import type { ClientStream } from './client-stream.ts';
import { Frame } from './frame.ts';
import type { Place, SessionHub } from './session-hub.ts';

/** What the store said of the session before the log is read. */
export interface KnownEnd {
  /** All events up to here were in the log; null: not known. */
  readonly tail: number | null;
  /** Whether the turn's last event was among them. */
  readonly turnIsOver: boolean;
}

export interface CatchUp {
  readonly hub: Pick<SessionHub, 'goLive' | 'droppedId'>;
  readonly place: Place;
  readonly client: ClientStream;
  readonly known: KnownEnd;
  readonly replay: (after: number) => AsyncIterable<readonly SessionEvent[]>;
  /** Resolves when this reader may go on for one page. */
  readonly admission: () => Promise<void>;
  readonly pause: () => Promise<void>;
}

/**
 * Reads the log for a client, at the client's pace, until it can go live without a loss or a repetition: the hub keeps
 * what comes meanwhile, and where that was too much, the log has it. Ends also when the client is gone or done.
 */
export async function catchUp({ hub, place, client, known, replay, admission, pause }: CatchUp): Promise<void> {
  let fruitless = 0;
  for (let pass = 1; !client.ended; pass += 1) {
    const before = client.cursor;
    await admission();
    await readLog(client, replay(before), admission);
    if (pass === 1) admitLosses(client, known);
    if (client.ended || hub.goLive(place, client)) return;
    fruitless = client.cursor > before ? 0 : fruitless + 1;
    if (fruitless === 0) continue;
    // The bus told of events that its log does not have. They get a moment; then they are lost, and the client is told.
    if (fruitless > 1) client.sayGap(hub.droppedId);
    await pause();
  }
}

async function readLog(
  client: ClientStream,
  pages: AsyncIterable<readonly SessionEvent[]>,
  admission: CatchUp['admission'],
): Promise<void> {
  for await (const events of pages) {
    for (const event of events) {
      // A log that was emptied has forgotten what came before: whether the client has all of that, nobody knows.
      if (event.prev === 0 && client.cursor > 0 && event.id > client.cursor) client.sayGap(event.id - 1);
      client.take(new Frame(event));
      if (client.full) {
        await client.drained();
        await admission();
      }
      if (client.ended) return;
    }
    await admission();
  }
}

/** Says what was in the log once and was not read now, and ends the stream of a turn whose end is lost. */
function admitLosses(client: ClientStream, { tail, turnIsOver }: KnownEnd): void {
  if (client.ended) return;
  if (tail !== null && tail > client.cursor) client.sayGap(tail);
  if (!turnIsOver) return;
  if (!client.gapSaid) client.sayGap(client.cursor);
  client.end();
}
