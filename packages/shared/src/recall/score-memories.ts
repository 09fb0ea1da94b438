import type { Memory } from '../domain/memory.ts';
import { RecentlyUsed } from './recently-used.ts';
import { termsOf } from './tokenise.ts';

// Memories are short, so a repeated word says little (low k1) and length matters half (b).
const K1 = 0.6;
const B = 0.5;
const KEYWORDS_WEIGHT = 0.6;
/** What a user pastes may be a megabyte; what it is about is said at its beginning. */
const MAX_QUERY_CHARS = 4000;

// Reading 1,000 memories takes 20 ms, which each turn of a user with that many would spend again.
const knownTerms = new RecentlyUsed<readonly string[]>(5000);

export interface ScoredMemory {
  readonly memory: Memory;
  readonly score: number;
}

interface Field {
  /** How often each term of the query occurs; those that do not are absent. */
  readonly counts: ReadonlyMap<string, number>;
  /** In terms. */
  readonly length: number;
}

interface IndexedMemory {
  readonly memory: Memory;
  readonly text: Field;
  readonly keywords: Field;
  /** The terms of the query that occur in any field. */
  readonly found: readonly string[];
}

/**
 * BM25 (Robertson and Zaragoza, 2009) of a query over a user's memories, their keywords as a second, lighter field.
 * Best first, equal ones in the order given; a score of 0 means that no term of the query occurs.
 */
export function scoreMemories(memories: readonly Memory[], query: string): readonly ScoredMemory[] {
  const terms = new Set(termsOf(query.slice(0, MAX_QUERY_CHARS)));
  const indexed = memories.map((memory) => indexMemory(memory, terms));
  const textLength = averageLength(indexed.map(({ text }) => text));
  const keywordsLength = averageLength(indexed.map(({ keywords }) => keywords));
  const rarities = raritiesOf(indexed);
  const scored = indexed.map(({ memory, text, keywords, found }) => {
    const parts = found.map((term) => {
      const weight = saturation(term, text, textLength) + KEYWORDS_WEIGHT * saturation(term, keywords, keywordsLength);
      return (rarities.get(term) ?? 0) * weight;
    });
    return { memory, score: parts.reduce((sum, part) => sum + part, 0) };
  });
  return scored.sort((one, other) => other.score - one.score);
}

function indexMemory(memory: Memory, terms: ReadonlySet<string>): IndexedMemory {
  const text = fieldOf(memory.text, terms);
  const keywords = fieldOf(memory.keywords.join('\n'), terms);
  return { memory, text, keywords, found: [...new Set([...text.counts.keys(), ...keywords.counts.keys()])] };
}

function fieldOf(text: string, wanted: ReadonlySet<string>): Field {
  const terms = knownTerms.get(text) ?? termsOf(text);
  knownTerms.set(text, terms);
  const counts = new Map<string, number>();
  for (const term of terms) {
    if (wanted.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return { counts, length: terms.length };
}

function averageLength(fields: readonly Field[]): number {
  return fields.reduce((sum, { length }) => sum + length, 0) / Math.max(1, fields.length);
}

function raritiesOf(indexed: readonly IndexedMemory[]): ReadonlyMap<string, number> {
  const holders = new Map<string, number>();
  for (const term of indexed.flatMap(({ found }) => found)) holders.set(term, (holders.get(term) ?? 0) + 1);
  return new Map([...holders].map(([term, n]) => [term, Math.log(1 + (indexed.length - n + 0.5) / (n + 0.5))]));
}

function saturation(term: string, field: Field, averageFieldLength: number): number {
  const count = field.counts.get(term) ?? 0;
  if (count === 0) return 0;
  const lengthFactor = 1 - B + B * (field.length / averageFieldLength);
  return (count * (K1 + 1)) / (count + K1 * lengthFactor);
}
