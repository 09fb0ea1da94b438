import { isoTime } from '@turnwire/shared/contracts/views';
import type { Agent } from '@turnwire/shared/domain/agent';
import type { Message } from '@turnwire/shared/domain/message';
import type { Turn } from '@turnwire/shared/domain/turn';
import { recallMemories } from '@turnwire/shared/recall/recall-memories';
import { expandPrompt } from './expand-prompt.ts';
import type { Hold } from './hold.ts';
import { turnContext } from './turn-context.ts';
import type { OwnedTurnState } from './turn-state.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/**
 * How much of a session's past a model is sent: the newest messages within both bounds. A long session's first token
 * must not wait for all that was ever said.
 */
const HISTORY_LIMITS = { maxMessages: 400, maxChars: 400_000 };

/** A turn that never began: its messages, memories and prompt, stored with the user's message in one write. */
export async function beginTurn(
  worker: WorkerDependencies,
  hold: Hold,
  state: OwnedTurnState,
  agent: Agent,
): Promise<void> {
  const { store, ids, clock } = worker;
  const { turn } = state;
  const [history, recalled] = await Promise.all([
    store.turns.history(hold.key, HISTORY_LIMITS),
    recall(worker, hold, state, agent),
  ]);
  state.setMessages(history);
  const prompt = expandPrompt(agent.systemPrompt, {
    tenant_id: turn.tenantId,
    user_id: turn.userId,
    session_id: turn.sessionId,
    agent_name: agent.name,
    time: isoTime(clock.now()),
  });
  const systemPrompt = `${prompt}${recalled.block}`;
  // Made once: the write may be tried again.
  const messageId = ids.next('msg');
  await state.write((write) =>
    store.turns.begin(hold.key, {
      write,
      turnId: turn.id,
      agentRevision: agent.revision,
      userMessage: { id: messageId, role: 'user', content: turn.text },
      checkpoint: { version: 1, systemPrompt, memoryIds: recalled.memoryIds, reminders: [] },
    }),
  );
}

/** A turn that began elsewhere or before: nothing is rebuilt, the loop goes on from what is stored. */
export async function continueTurn(worker: WorkerDependencies, hold: Hold, state: OwnedTurnState): Promise<void> {
  state.setMessages(withOwnText(state.turn, await worker.store.turns.history(hold.key, HISTORY_LIMITS)));
}

/** What a long turn was asked must not fall out of its own history. */
function withOwnText(turn: Turn, history: readonly Message[]): readonly Message[] {
  if (history.some(({ role, turnId }) => role === 'user' && turnId === turn.id)) return history;
  const { id, sessionId, text, createdAt } = turn;
  const asked: Message = { id: `msg_${id}`, sessionId, turnId: id, seq: 0, role: 'user', content: text, createdAt };
  return [asked, ...history.filter(({ turnId }) => turnId === id)];
}

async function recall(worker: WorkerDependencies, hold: Hold, { turn }: OwnedTurnState, agent: Agent) {
  if (!agent.memory.recall) return { block: '', memoryIds: [] };
  const { store, embedder, clock } = worker;
  const { tenantId, userId, text } = turn;
  return recallMemories(
    { memories: store.memories, embedder, clock, log: turnContext().log },
    { tenantId, userId, text, topK: agent.memory.topK, signal: hold.signal },
  );
}
