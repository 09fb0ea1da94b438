import type { Memory, MemoryChanges } from '@turnwire/shared/domain/memory';
import type { Checked, Statement } from './check-proposed.ts';
import { factKey, sameFact, slotKey } from './same-fact.ts';

export interface ReconcileContext {
  readonly turn: {
    readonly id: string;
    readonly tenantId: string;
    readonly userId: string;
    readonly sessionId: string;
  };
  /** When the user said it: the facts hold from then on. */
  readonly saidAt: number;
  readonly now: number;
}

/**
 * What the checked proposals of a turn change in a user's valid memories. First all that is to be closed is found, by
 * what was valid before; then what is left to be said is added. So the order of proposals does not matter but for
 * several values of one single-valued slot, of which the last counts, and what was applied once changes nothing again.
 */
export function reconcile(
  { statements, deletions }: Pick<Checked, 'statements' | 'deletions'>,
  valid: readonly Memory[],
  context: ReconcileContext,
): MemoryChanges {
  const standing = lastOfEachSlot(statements).filter((item) => isApplicable(item, valid, context.saidAt));
  const replacedBy = new Map<string, Statement | null>();
  for (const item of standing) for (const { id } of replaced(item, valid)) replacedBy.set(id, item);
  for (const memory of valid) {
    const gone = deletions.includes(memory.id) && !replacedBy.has(memory.id);
    if (gone && !isNewerWord(memory, context.saidAt)) replacedBy.set(memory.id, null);
  }
  const survivors = valid.filter(({ id }) => !replacedBy.has(id));
  const added: Memory[] = [];
  const carriers = new Map<Statement | null, string>();
  for (const item of standing) {
    const known = [...survivors, ...added].find((memory) => sameFact(item, memory));
    const carrier = known ?? newMemory(item, statements.indexOf(item) + 1, context);
    if (known === undefined) added.push(carrier);
    carriers.set(item, carrier.id);
  }
  const closed = [...replacedBy].map(([id, by]) => ({
    id,
    validTo: context.saidAt,
    supersededBy: carriers.get(by) ?? null,
  }));
  return { added, closed };
}

/** Where any statement about a slot says that it has one value, only the last one about it counts. */
function lastOfEachSlot(statements: readonly Statement[]): readonly Statement[] {
  const single = new Set(statements.filter(({ cardinality }) => cardinality === 'one').map(slotKey));
  const last = new Map(statements.map((item) => [slotKey(item), item]));
  return statements.filter((item) => {
    const key = slotKey(item);
    return key === null || !single.has(key) || last.get(key) === item;
  });
}

/** Not if its target has gone, nor if what it would close is a newer word than this one. */
function isApplicable(item: Statement, valid: readonly Memory[], saidAt: number): boolean {
  if (item.targetId !== null && !valid.some(({ id }) => id === item.targetId)) return false;
  return replaced(item, valid).every((memory) => !isNewerWord(memory, saidAt));
}

/** What a statement puts an end to: its target, unless that says the same, and another value of a single-valued slot. */
function replaced(item: Statement, valid: readonly Memory[]): readonly Memory[] {
  const key = item.cardinality === 'one' ? slotKey(item) : null;
  return valid.filter((memory) => {
    if (memory.id === item.targetId) return factKey(memory.text) !== factKey(item.text);
    return key !== null && key === slotKey(memory) && !sameFact(item, memory);
  });
}

/** Said in another turn, or entered or edited by a person, after the user said this: an extraction may come late. */
function isNewerWord({ validFrom, sourceTurnId, createdAt, updatedAt }: Memory, saidAt: number): boolean {
  return validFrom > saidAt || (updatedAt > saidAt && (sourceTurnId === null || updatedAt > createdAt));
}

/** Its id comes from the turn and its place, so that the same answer makes the same memories. */
function newMemory(item: Statement, position: number, { turn, saidAt, now }: ReconcileContext): Memory {
  const { text, quote, kind, subject, slot, value, keywords, eventTime } = item;
  return {
    id: `mem_${turn.id}_${position}`,
    tenantId: turn.tenantId,
    userId: turn.userId,
    text,
    kind: kind ?? 'fact',
    subject,
    slot,
    value,
    keywords,
    eventTime,
    quote,
    sourceSessionId: turn.sessionId,
    sourceTurnId: turn.id,
    validFrom: saidAt,
    validTo: null,
    supersededBy: null,
    createdAt: now,
    updatedAt: now,
  };
}
