import type { Agent } from '@turnwire/shared/domain/agent';
import { AppError } from '@turnwire/shared/domain/errors';
import type { Memory } from '@turnwire/shared/domain/memory';
import type { Turn } from '@turnwire/shared/domain/turn';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { LanguageModel } from '@turnwire/shared/ports/language-model';
import type { PendingExtraction } from '@turnwire/shared/ports/memory-store';
import type { Metrics } from '@turnwire/shared/ports/metrics';
import type { Store } from '@turnwire/shared/ports/store';
import { scoreMemories } from '@turnwire/shared/recall/score-memories';
import { askModel } from './ask-model.ts';
import { buildRequest, userWordsOf } from './build-request.ts';
import { checkProposed } from './check-proposed.ts';
import { EXTRACTION_PROMPT } from './extraction-prompt.ts';
import { parseAnswer } from './parse-answer.ts';
import { reconcile } from './reconcile.ts';

const MAX_VALID = 1000;
const MAX_CANDIDATES = 20;

export interface ExtractDeps {
  readonly store: Pick<Store, 'agents' | 'memories' | 'extractions'>;
  readonly model: LanguageModel;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'memoryRefused' | 'extractionEnded'>;
  readonly memoryModel: string | null;
}

/**
 * Finds what a turn told about its user and stores it together with the mark that this was done. Throws the model's
 * failure, `agent_not_found`, or `unavailable`; then nothing was stored and the extraction is still pending.
 */
export async function extractTurn(deps: ExtractDeps, pending: PendingExtraction, signal: AbortSignal): Promise<void> {
  const { store, clock, metrics } = deps;
  const { turn, messages, tombstones } = pending;
  const agent = await pinnedAgent(store, turn);
  const valid = await store.memories.valid(turn, MAX_VALID);
  const userWords = userWordsOf(messages);
  const candidates = candidatesFor(valid, userWords);
  const request = buildRequest({
    agentModel: agent.model,
    memoryModel: deps.memoryModel,
    messages,
    candidates,
    saidAt: turn.createdAt,
  });
  const answer = userWords.trim() === '' ? null : await askModel(deps, request, signal);
  const { proposed, malformed } = answer === null ? { proposed: [], malformed: 0 } : parseAnswer(answer);
  const prompts = [EXTRACTION_PROMPT, agent.systemPrompt];
  const checked = checkProposed(proposed, { userWords, prompts, candidates, tombstones });
  const changes = reconcile(checked, valid, { turn, saidAt: turn.createdAt, now: clock.now() });
  if (!(await store.extractions.complete(turn, changes))) return; // another worker was first
  metrics.extractionEnded('done');
  for (const reason of [...checked.refused, ...Array<'malformed'>(malformed).fill('malformed')])
    metrics.memoryRefused(reason);
}

async function pinnedAgent(store: ExtractDeps['store'], { tenantId, agentId, agentRevision }: Turn): Promise<Agent> {
  const agent = agentRevision === null ? null : await store.agents.getRevision(tenantId, agentId, agentRevision);
  if (agent === null) throw new AppError('agent_not_found', `Agent ${agentId} was deleted.`);
  return agent;
}

/** The existing memories that the turn may touch: all if they are few, otherwise the nearest. */
function candidatesFor(valid: readonly Memory[], userWords: string): readonly Memory[] {
  if (valid.length <= MAX_CANDIDATES) return valid;
  return scoreMemories(valid, userWords)
    .slice(0, MAX_CANDIDATES)
    .map(({ memory }) => memory);
}
