import { AppError, isAppError, leaseLost, unavailable } from '@turnwire/shared/domain/errors';
import { type EventDraft, eventId, type NumberedEvent, type OutboxEntry } from '@turnwire/shared/domain/event';
import type { EventWriter } from '@turnwire/shared/ports/event-bus';
import { createManualClock } from '@turnwire/shared/testing/manual-clock';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTurnJournal, type HolderStoreWrite } from './turn-journal.ts';

const TOKEN = 7;
const id = (n: number) => eventId(TOKEN, n);

function delta(text: string): EventDraft {
  return { type: 'turn.delta', turnId: 'turn_1', data: { step: 1, text }, ts: 0 };
}

function textOf(event: EventDraft): string {
  return event.type === 'turn.delta' ? event.data.text : event.type;
}

/** A log that can be away, or refuse. */
class FakeWriter implements EventWriter {
  readonly appended: NumberedEvent[] = [];
  confirmedId = 0;
  failure: Error | null = null;
  append(events: readonly NumberedEvent[]): void {
    this.appended.push(...events);
  }
  async flush(): Promise<void> {
    await Promise.resolve();
    if (this.failure !== null) throw this.failure;
    this.confirmedId = this.appended.at(-1)?.id ?? 0;
  }
  close(): void {}
}

function open() {
  const writer = new FakeWriter();
  const clock = createManualClock(0);
  const lost = new AbortController();
  const journal = createTurnJournal({
    token: TOKEN,
    writer,
    clock,
    signal: lost.signal,
    onLost: () => lost.abort(),
    onEvent: () => undefined,
  });
  return { journal, writer, clock, lost, shown: () => writer.appended.map((event) => textOf(event)) };
}

/** A write that puts events into the outbox, numbered as the store does. */
function storing(...texts: readonly string[]): HolderStoreWrite<object> {
  return async ({ nextEventId }) => ({ outbox: entries(nextEventId, texts) });
}

function entries(first: number, texts: readonly string[]): readonly OutboxEntry[] {
  return texts.map((text, i) => ({ id: first + i, event: delta(text) }));
}

describe('the journal', () => {
  test('numbers events without holes, and keeps what is emitted in the middle of a write behind it', async () => {
    const { journal, writer, shown } = open();
    journal.emit(delta('a'));
    const write = journal.commit(storing('b', 'c'));
    journal.emit(delta('d'));
    await write;
    journal.emit(delta('e'));
    expect(shown()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(writer.appended.map((event) => event.id)).toEqual([1, 2, 3, 4, 5].map(id));
  });

  test('has in the log what was emitted before a write, and tells the store how far the log is', async () => {
    const { journal, writer } = open();
    journal.emit(delta('a'));
    let confirmed = 0;
    await journal.commit(async (write) => {
      confirmed = writer.confirmedId;
      expect(write).toEqual({ token: TOKEN, nextEventId: id(2), publishedId: id(1) });
      return { outbox: [] };
    });
    expect(confirmed).toBe(id(1));
  });

  test('publishes what an older holder left first, under its own ids', async () => {
    const { journal, writer } = open();
    const old = { id: eventId(TOKEN - 1, 9), event: delta('old') };
    journal.publish([old, { id: id(1), event: delta('claimed') }]);
    journal.emit(delta('new'));
    expect(writer.appended.map((event) => event.id)).toEqual([old.id, id(1), id(2)]);
  });

  test('begins at its first id where all of the outbox was older', () => {
    const { journal, writer } = open();
    journal.publish([{ id: eventId(TOKEN - 1, 9), event: delta('old') }]);
    journal.emit(delta('new'));
    expect(writer.appended.at(-1)?.id).toBe(id(1));
  });

  test('publishes nothing twice, though the outbox still has it', async () => {
    const { journal, shown } = open();
    journal.publish(entries(id(1), ['a']));
    await journal.commit(async () => ({ outbox: entries(id(1), ['a', 'b']) }));
    expect(shown()).toEqual(['a', 'b']);
  });

  test('waits while the store is away', async () => {
    const { journal, clock, shown } = open();
    let tries = 0;
    const write = journal.commit(async ({ nextEventId }) => {
      tries += 1;
      if (tries < 4) throw unavailable('The store', null);
      return { outbox: entries(nextEventId, ['b']) };
    });
    journal.emit(delta('c'));
    await clock.advance(10_000);
    await write;
    expect(tries).toBe(4);
    expect(shown()).toEqual(['b', 'c']);
  });

  test('waits while the log is away, and writes nothing to the store before it is back', async () => {
    const { journal, writer, clock } = open();
    writer.failure = unavailable('The log', null);
    let written = false;
    const write = journal.commit(async () => {
      written = true;
      return { outbox: [] };
    });
    await clock.advance(10_000);
    expect(written).toBe(false);
    writer.failure = null;
    await clock.advance(10_000);
    await write;
    expect(written).toBe(true);
  });

  test('gives up waiting when the lease is lost', async () => {
    const { journal, clock, lost } = open();
    const write = journal.commit(() => Promise.reject(unavailable('The store', null))).catch((error: unknown) => error);
    await clock.advance(1_000);
    lost.abort();
    expect(isAppError(await write, 'unavailable')).toBe(true);
  });

  test('takes a write that is refused after its answer was lost for one that was made', async () => {
    const { journal, clock } = open();
    let stored = 0;
    const write = journal
      .commit(async () => {
        stored += 1;
        if (stored === 1) throw unavailable('The store', 'the answer was lost');
        throw new AppError('transition_refused', 'It was made already.');
      })
      .catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(isAppError(await write, 'unavailable')).toBe(true);
  });

  test.each(['store', 'log'] as const)('emits nothing after the %s said that the lease is lost', async (refuses) => {
    const { journal, writer, shown, lost } = open();
    journal.emit(delta('a'));
    if (refuses === 'log') writer.failure = leaseLost('s', TOKEN);
    const write = journal.commit(() => Promise.reject(leaseLost('s', TOKEN)));
    journal.emit(delta('held'));
    await expect(write).rejects.toMatchObject({ code: 'lease_lost' });
    journal.emit(delta('later'));
    journal.publish(entries(id(2), ['published']));
    expect(shown()).toEqual(['a']);
    expect(lost.signal.aborted).toBe(true);
  });

  test('goes on after a write that was refused for another reason', async () => {
    const { journal, shown } = open();
    const refused = journal.commit(() => Promise.reject(new Error('no')));
    journal.emit(delta('a'));
    await expect(refused).rejects.toThrow('no');
    await journal.commit(storing('b'));
    expect(shown()).toEqual(['a', 'b']);
  });
});

test('whatever is emitted and written at once has one order without holes', async () => {
  const operation = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ do: 'emit' } as const) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const), events: fc.nat(3), away: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ do: 'wait' } as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(operation, { maxLength: 20 }), async (scheduler, operations) => {
      const { journal, writer, clock } = open();
      const commits: Promise<unknown>[] = [];
      const emitted: string[] = [];
      for (const [n, each] of operations.entries()) {
        if (each.do === 'emit') {
          emitted.push(`emit ${n}`);
          journal.emit(delta(`emit ${n}`));
        } else if (each.do === 'commit') {
          let away = each.away;
          const before = emitted.length;
          const write = scheduler.scheduleFunction(async (nextEventId: number) => {
            if (away) {
              away = false;
              throw unavailable('The store', null);
            }
            const logged = writer.appended.filter((event) => event.id <= writer.confirmedId).map(textOf);
            expect(nextEventId).toBe((writer.appended.at(-1)?.id ?? id(0)) + 1);
            expect(writer.confirmedId).toBe(writer.appended.at(-1)?.id ?? 0);
            if (commits.length === 1) expect(logged.slice(0, before)).toEqual(emitted.slice(0, before));
            const texts = Array.from({ length: each.events }, (_, i) => `commit ${n}.${i}`);
            return { outbox: entries(nextEventId, texts) };
          });
          commits.push(journal.commit(({ nextEventId }) => write(nextEventId)));
        } else {
          await scheduler.waitIdle();
          await clock.advance(300);
        }
      }
      const all = Promise.all(commits);
      for (let round = 0; round < 60 && commits.length > 0; round += 1) {
        await scheduler.waitIdle();
        await clock.advance(300);
      }
      await all;
      const ids = writer.appended.map((event) => event.id);
      expect(ids).toEqual(ids.map((_, i) => id(i + 1)));
      const texts = writer.appended.map(textOf);
      expect(texts.filter((text) => text.startsWith('emit'))).toEqual(emitted);
      const committed = texts.filter((text) => text.startsWith('commit'));
      expect(committed).toEqual(committed.toSorted((a, b) => orderOf(a) - orderOf(b)));
      const total = operations.reduce((sum, each) => sum + (each.do === 'commit' ? each.events : 0), 0);
      expect(committed).toHaveLength(total);
    }),
    { numRuns: 60 },
  );
});

function orderOf(text: string): number {
  const [n = 0, i = 0] = text.replace('commit ', '').split('.').map(Number);
  return n * 10 + i;
}
