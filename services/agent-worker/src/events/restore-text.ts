import type { Turn } from '@turnwire/shared/domain/turn';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { EventBus } from '@turnwire/shared/ports/event-bus';
import type { TurnJournal } from './turn-journal.ts';

/**
 * The text of a step that a lost holder was in, as the log has it. Clients may have been shown more than that: by a
 * holder that died before the log had it, or that does not know yet that it lost its lease. So it is taken back and
 * said again in this holder's name, after which nothing of an older one is delivered.
 */
export async function restoreText(bus: EventBus, clock: Clock, journal: TurnJournal, turn: Turn): Promise<string> {
  const step = turn.steps + 1;
  const text = await readPartialText(bus, turn, step);
  journal.emit({ type: 'turn.reset', turnId: turn.id, data: { step }, ts: clock.now() });
  if (text !== '') journal.emit({ type: 'turn.delta', turnId: turn.id, data: { step, text }, ts: clock.now() });
  return text;
}

async function readPartialText(bus: EventBus, turn: Turn, step: number): Promise<string> {
  let text = '';
  const key = { tenantId: turn.tenantId, sessionId: turn.sessionId };
  for await (const page of bus.replay(key, turn.eventsFrom)) {
    for (const event of page) {
      if (event.turnId !== turn.id) continue;
      if (event.type === 'turn.delta' && event.data.step === step) text += event.data.text;
      if (event.type === 'turn.reset' && event.data.step === step) text = '';
    }
  }
  return text;
}
