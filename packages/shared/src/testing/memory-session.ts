import { decidedSessions, decidedTurns, type UpdateSession } from '../adapters/decided-store.ts';
import type { SessionAggregate, SessionChange } from '../domain/aggregate.ts';
import type { Message } from '../domain/message.ts';
import { type NewSession, newSession } from '../domain/session.ts';
import type { ToolCall } from '../domain/tool-call.ts';
import { isTerminalStatus, type Turn } from '../domain/turn.ts';
import type { Clock } from '../ports/clock.ts';
import type { SessionSnapshot } from './session-invariants.ts';

/** One session in memory: applies the domain's changes as their contract says, and nothing else. */
export function createMemorySession(input: NewSession, clock: Clock) {
  let session = newSession(input, clock.now());
  let messages: readonly Message[] = [];
  const turns = new Map<string, Turn>();
  const toolCalls = new Map<string, ToolCall>();

  function aggregate(): SessionAggregate {
    const open = [...turns.values()]
      .filter(({ status }) => !isTerminalStatus(status))
      .sort((a, b) => a.number - b.number);
    return { session, turns: open, toolCalls: ledger().filter(({ turnId }) => turnId === open[0]?.id) };
  }

  function ledger(): readonly ToolCall[] {
    return [...toolCalls.values()].sort((a, b) => a.step - b.step || a.position - b.position);
  }

  function apply(change: SessionChange): void {
    session = change.session;
    for (const turn of change.turns) turns.set(turn.id, turn);
    for (const call of change.toolCalls) toolCalls.set(call.id, call);
    messages = [...messages.filter(({ turnId }) => !change.rolledBack.includes(turnId)), ...change.messages];
  }

  const update: UpdateSession = async ({ decide }) => {
    const { result, change } = decide(aggregate(), clock.now());
    if (change !== null) apply(change);
    return { value: result, replayed: false };
  };

  return {
    ...decidedSessions(update),
    turns: decidedTurns(update),
    read: (): SessionSnapshot => ({
      session,
      turns: [...turns.values()].sort((a, b) => a.number - b.number),
      messages,
      toolCalls: ledger(),
    }),
  };
}
