import { setTimeout as sleep } from 'node:timers/promises';
import { isAppError } from '@turnwire/shared/domain/errors';
import { eventId, type NumberedEvent, type SessionEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventBus, EventWriter } from '@turnwire/shared/ports/event-bus';
import { expect } from 'vitest';
import { eventually } from '../../stack/eventually.ts';
import { MergingReader, readAll } from './collector.ts';

const STEP_MS = 10;

/** Tries again for as long as the bus is not available, as holders and clients do. */
export async function persist<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isAppError(error, 'unavailable')) throw error;
    }
    await sleep(50);
  }
}

/** One session that is written to all the time, and read by clients that come at different times. */
class StreamedSession {
  readonly key: SessionKey;
  readonly written: NumberedEvent[] = [];
  readonly readers: { readonly cursor: number; reader: MergingReader }[] = [];
  #writer: EventWriter | null = null;

  constructor(sessionId: string) {
    this.key = { tenantId: 'acme', sessionId };
  }

  async write(worker: EventBus, signal: AbortSignal): Promise<void> {
    const writer = await worker.openWriter(this.key, 1);
    this.#writer = writer;
    while (!signal.aborted) {
      this.#append();
      await sleep(STEP_MS);
    }
    this.#append();
    await persist(() => writer.flush());
  }

  async read(gateway: EventBus, back: number): Promise<void> {
    const cursor = this.written.at(-back)?.id ?? 0;
    const started = await persist(async () => {
      const reader = new MergingReader(cursor);
      try {
        await reader.start(gateway, this.key);
        return reader;
      } catch (error) {
        reader.stop();
        throw error;
      }
    });
    this.readers.push({ cursor, reader: started });
  }

  async check(gateway: EventBus): Promise<void> {
    const all: SessionEvent[] = this.written.map((event, n) => ({ ...event, prev: this.written[n - 1]?.id ?? 0 }));
    expect(this.#writer?.confirmedId).toBe(all.at(-1)?.id);
    for (const { cursor, reader } of this.readers) {
      await eventually(() => expect(reader.events.at(-1)?.id).toBe(all.at(-1)?.id), 10_000);
      expect(reader.events).toEqual(all.filter(({ id }) => id > cursor));
      reader.stop();
    }
    expect(await persist(() => readAll(gateway, this.key))).toEqual(all);
  }

  #append(): void {
    const n = this.written.length + 1;
    const event: NumberedEvent = {
      type: 'turn.delta',
      turnId: 'turn_1',
      data: { step: 1, text: `${n} ` },
      ts: Date.now(),
      id: eventId(1, n),
    };
    this.written.push(event);
    this.#writer?.append([event]);
  }
}

/**
 * Sessions are written through one bus and read through another while something happens to them. In the end every reader
 * has got every event after its cursor, once and in order, and the log has them all.
 */
export async function expectStreamsToSurvive(
  { worker, gateway, count }: { worker: EventBus; gateway: EventBus; count: number },
  trouble: () => Promise<void>,
): Promise<void> {
  const sessions = Array.from({ length: count }, (_, n) => new StreamedSession(`ses_${process.pid}_${n}`));
  const end = new AbortController();
  const writes = sessions.map((session) => session.write(worker, end.signal));
  for (const session of sessions) await session.read(gateway, 0);
  await sleep(200);
  let late: Promise<void>[] = [];
  const clients = setInterval(() => {
    late = [...late, ...sessions.slice(0, 5).map((session) => session.read(gateway, 20))];
  }, 500);
  await trouble();
  clearInterval(clients);
  await sleep(300);
  end.abort();
  await Promise.all([...writes, ...late]);
  for (const session of sessions) {
    expect(session.written.length).toBeGreaterThan(30);
    await session.check(gateway);
  }
}
