import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { eventId, type NumberedEvent } from '@turnwire/shared/domain/event';
import type { SessionKey } from '@turnwire/shared/domain/tenant';
import type { EventBus, EventWriter } from '@turnwire/shared/ports/event-bus';
import fc from 'fast-check';
import { MergingReader } from './collector.ts';

export type ScriptStep =
  | { readonly do: 'append'; readonly count: number }
  | { readonly do: 'read'; readonly back: number }
  | { readonly do: 'flush' | 'wait' | 'take over' };

/** What may happen to a session while clients come: its holder writes, hands over; readers start anywhere. */
export const scriptSteps: fc.Arbitrary<ScriptStep[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 9 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), back: fc.nat({ max: 30 }) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('flush', 'flush', 'wait', 'wait', 'take over') }) },
  ),
  { minLength: 3, maxLength: 40 },
);

export interface StartedReader {
  readonly cursor: number;
  readonly reader: MergingReader;
  readonly caughtUp: Promise<void>;
}

/** Plays steps on one session. */
export class SessionScript {
  readonly written: NumberedEvent[] = [];
  readonly readers: StartedReader[] = [];
  readonly #bus: EventBus;
  readonly #peer: EventBus;
  readonly #key: SessionKey;
  #writer: EventWriter | null = null;
  #token = 0;
  #n = 0;

  constructor(bus: EventBus, peer: EventBus, key: SessionKey) {
    this.#bus = bus;
    this.#peer = peer;
    this.#key = key;
  }

  async play(steps: readonly ScriptStep[]): Promise<void> {
    await this.#takeOver();
    for (const step of steps) await this.#play(step);
    await this.#writer?.flush();
    await Promise.all(this.readers.map(({ caughtUp }) => caughtUp));
  }

  async #play(step: ScriptStep): Promise<void> {
    switch (step.do) {
      case 'append':
        return this.#append(step.count);
      case 'read':
        return this.#read(step.back);
      case 'flush':
        return this.#writer?.flush();
      case 'wait':
        return turnOfLoop();
      case 'take over':
        return this.#takeOver();
    }
  }

  #append(count: number): void {
    const events = Array.from({ length: count }, (): NumberedEvent => {
      this.#n += 1;
      const data = { step: 1, text: `${this.#n} ` };
      return { type: 'turn.delta', turnId: 'turn_1', data, ts: 1_000, id: eventId(this.#token, this.#n) };
    });
    this.#writer?.append(events);
    this.written.push(...events);
  }

  /** A client comes that has seen all but the last `back` events, or nothing. */
  #read(back: number): void {
    const cursor = this.written.at(-1 - back)?.id ?? 0;
    const reader = new MergingReader(cursor);
    this.readers.push({ cursor, reader, caughtUp: reader.start(this.#peer, this.#key) });
  }

  async #takeOver(): Promise<void> {
    await this.#writer?.flush();
    this.#token += 1;
    this.#n = 0;
    this.#writer = await this.#bus.openWriter(this.#key, this.#token);
  }
}
