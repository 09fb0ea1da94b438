import type { Memory } from '@turnwire/shared/domain/memory';
import { echoCheck } from './echo-check.ts';
import { holdsSecret } from './holds-secret.ts';
import type { ProposedMemory } from './parse-answer.ts';
import { factKey } from './same-fact.ts';
import { isTelling, standsIn } from './stands-in.ts';

const MAX_ITEMS = 20;
const MIN_TEXT = 2;
const MAX_LENGTHS = [
  ['text', 500],
  ['quote', 1000],
  ['kind', 40],
  ['subject', 100],
  ['slot', 60],
  ['value', 300],
] as const;
const MAX_KEYWORDS = 10;
const MAX_KEYWORD = 60;

/** Why a proposed memory was refused; the label of `memories_refused_total`. */
export type RefusalReason = 'malformed' | 'too_many' | 'target' | 'length' | 'quote' | 'secret' | 'echo' | 'tombstone';

/** What is to be remembered, of a proposal that stood all checks. */
export type Statement = Omit<ProposedMemory, 'op' | 'targetRef'> & {
  /** The memory that it replaces, if it was proposed as an update. */
  readonly targetId: string | null;
};

export interface Checked {
  readonly statements: readonly Statement[];
  /** Ids of the memories that the user takes back. */
  readonly deletions: readonly string[];
  readonly refused: readonly RefusalReason[];
}

export interface CheckContext {
  /** What the user said in the turn. */
  readonly userWords: string;
  /** What no memory may restate: the extractor's own prompt, the agent's. */
  readonly prompts: readonly string[];
  /** What the model was offered as targets, in the order of its refs. */
  readonly candidates: readonly Memory[];
  /** Texts that the user took back. */
  readonly tombstones: readonly string[];
}

/** Checks in code what no prompt can promise: each memory has its evidence in the user's own words of this turn. */
export function checkProposed(proposed: readonly ProposedMemory[], context: CheckContext): Checked {
  const echoes = echoCheck(context.prompts, context.userWords);
  const statements: Statement[] = [];
  const deletions: string[] = [];
  const refused: RefusalReason[] = proposed.slice(MAX_ITEMS).map(() => 'too_many');
  for (const item of proposed.slice(0, MAX_ITEMS)) {
    const target = item.op === 'add' ? null : (context.candidates[(item.targetRef ?? 0) - 1] ?? null);
    const reason = refusalOf(item, target, context, echoes);
    if (reason !== null) refused.push(reason);
    else if (item.op !== 'delete') statements.push(statementOf(item, target));
    else if (target !== null) deletions.push(target.id);
  }
  return { statements, deletions, refused };
}

function refusalOf(
  item: ProposedMemory,
  target: Memory | null,
  context: CheckContext,
  echoes: (text: string) => boolean,
): RefusalReason | null {
  if (item.op !== 'add' && target === null) return 'target';
  const about = item.op === 'delete' && target !== null ? target.text : item.text;
  if (!standsIn(item.quote, context.userWords) || !isTelling(item.quote, about)) return 'quote';
  if (item.op === 'delete') return null;
  if (!fits(item)) return 'length';
  const parts = [item.text, item.quote, item.kind, item.subject, item.slot, item.value, ...item.keywords];
  if (parts.some((part) => part !== null && holdsSecret(part))) return 'secret';
  if (echoes(item.text)) return 'echo';
  return isTakenBack(item.text, context.tombstones) ? 'tombstone' : null;
}

function fits(item: ProposedMemory): boolean {
  return item.text.length >= MIN_TEXT && MAX_LENGTHS.every(([field, limit]) => (item[field] ?? '').length <= limit);
}

function isTakenBack(text: string, tombstones: readonly string[]): boolean {
  const key = factKey(text);
  return tombstones.some((tombstone) => factKey(tombstone) === key);
}

function statementOf({ op: _, targetRef: __, ...item }: ProposedMemory, target: Memory | null): Statement {
  const keywords = item.keywords.filter((keyword) => keyword !== '' && keyword.length <= MAX_KEYWORD);
  return { ...item, keywords: [...new Set(keywords)].slice(0, MAX_KEYWORDS), targetId: target?.id ?? null };
}
