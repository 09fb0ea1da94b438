import type { Memory } from '../domain/memory.ts';
import { scoreMemories } from './score-memories.ts';

/** The memories in which something of the query occurs, best first, at most `limit`. */
export function searchMemories(memories: readonly Memory[], query: string, limit: number): readonly Memory[] {
  return scoreMemories(memories, query)
    .filter(({ score }) => score > 0)
    .slice(0, limit)
    .map(({ memory }) => memory);
}
