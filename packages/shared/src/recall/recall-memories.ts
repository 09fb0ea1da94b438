import type { Memory } from '../domain/memory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Embedder } from '../ports/embedder.ts';
import type { Logger } from '../ports/logger.ts';
import type { MemoryStore } from '../ports/memory-store.ts';
import { blendScores } from './blend-scores.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { recalledLine, writeRecalled } from './recalled-block.ts';
import { type ScoredMemory, scoreMemories } from './score-memories.ts';
import { scoreVectors } from './score-vectors.ts';
import { withinLimit } from './time-limit.ts';

/** Newest ones of a user that are looked at. */
const MAX_CONSIDERED = 1000;
/** Up to here all memories are given: choosing would save little and could miss what matters. */
const ALL_UP_TO_TOKENS = 1500;
const MAX_BLOCK_TOKENS = 4000;
const EMBEDDED_CANDIDATES = 50;
const STORE_LIMIT_MS = 2000;
const EMBEDDER_LIMIT_MS = 1000;

export interface RecallDeps {
  readonly memories: Pick<MemoryStore, 'valid'>;
  /** Null: by words alone. */
  readonly embedder: Embedder | null;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RecallInput {
  readonly tenantId: string;
  readonly userId: string;
  /** What the user says now. */
  readonly text: string;
  /** How many are given where there are too many to give all; 0: none at all. */
  readonly topK: number;
  readonly signal: AbortSignal;
}

export interface Recalled {
  /** To be appended to the system prompt; empty where there is nothing to say. */
  readonly block: string;
  readonly memoryIds: readonly string[];
}

/** What is known of a user that bears on a text. Never throws: a failure is logged and recalls nothing. */
export async function recallMemories(deps: RecallDeps, input: RecallInput): Promise<Recalled> {
  const { tenantId, userId } = input;
  try {
    if (input.topK === 0) return { block: '', memoryIds: [] };
    const read = () => deps.memories.valid({ tenantId, userId }, MAX_CONSIDERED);
    const memories = await withinLimit(deps.clock, STORE_LIMIT_MS, input.signal, read);
    const chosen = await chooseMemories(deps, input, memories);
    // By age, so that of two that contradict each other the newer one comes last.
    const inOrder = chosen.toSorted((one, other) => one.validFrom - other.validFrom);
    return { block: writeRecalled(inOrder), memoryIds: inOrder.map(({ id }) => id) };
  } catch (error) {
    deps.log.warn({ tenantId, userId, err: error }, 'Memories could not be recalled; the turn goes on without them.');
    return { block: '', memoryIds: [] };
  }
}

async function chooseMemories(
  deps: RecallDeps,
  input: RecallInput,
  memories: readonly Memory[],
): Promise<readonly Memory[]> {
  if (tokensOf(memories) <= ALL_UP_TO_TOKENS) return memories;
  const lexical = scoreMemories(memories, input.text);
  const ranked = await rankByMeaning(deps, input, lexical);
  return withinBudget(ranked ?? lexical.filter(({ score }) => score > 0).map(({ memory }) => memory), input.topK);
}

/** Null without an embedder, or if it failed. */
async function rankByMeaning(
  deps: RecallDeps,
  input: RecallInput,
  lexical: readonly ScoredMemory[],
): Promise<readonly Memory[] | null> {
  const { embedder, clock, log } = deps;
  if (embedder === null) return null;
  const candidates = lexical.slice(0, EMBEDDED_CANDIDATES);
  const texts = candidates.map(({ memory }) => memory.text);
  try {
    const vector = await withinLimit(clock, EMBEDDER_LIMIT_MS, input.signal, (signal) =>
      scoreVectors(embedder, input.text, texts, signal),
    );
    const blended = blendScores(
      candidates.map(({ score }) => score),
      vector,
    );
    return candidates
      .map(({ memory }, index) => ({ memory, score: blended[index] ?? 0 }))
      .sort((one, other) => other.score - one.score)
      .map(({ memory }) => memory);
  } catch (error) {
    log.warn({ err: error }, 'The embedding model failed; memories are recalled by words alone.');
    return null;
  }
}

/** The best `topK`, without those that would make the block too long. */
function withinBudget(ranked: readonly Memory[], topK: number): readonly Memory[] {
  let left = MAX_BLOCK_TOKENS;
  return ranked.slice(0, topK).filter((memory) => {
    const tokens = tokensOf([memory]);
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}

function tokensOf(memories: readonly Memory[]): number {
  return memories.reduce((sum, memory) => sum + estimateTokens(recalledLine(memory)), 0);
}
