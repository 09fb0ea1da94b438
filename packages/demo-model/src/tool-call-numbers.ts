import { randomUUID } from 'node:crypto';
import type { ToolCallPiece } from './reply.ts';

/** A tool call's delta as it goes over the wire. */
export type ToolCallDelta = {
  index?: number;
  id?: string | null;
  type?: 'function';
  function: { name?: string; arguments?: string };
};

export type ToolCallNumbers = { readonly count: number; next(piece: ToolCallPiece): ToolCallDelta };

/** Gives the pieces of one answer their indexes and ids; see `ToolCallPiece` for the rules. */
export function createToolCallNumbers(): ToolCallNumbers {
  let count = 0;
  return {
    get count() {
      return count;
    },
    next: (piece) => {
      const text = typeof piece.arguments === 'object' ? JSON.stringify(piece.arguments) : piece.arguments;
      const args = text === undefined ? {} : { arguments: text };
      if (piece.name === undefined) return continuation(piece, Math.max(0, count - 1), args);
      const { name, index = count, id = `call_${randomUUID().replaceAll('-', '')}` } = piece;
      count += 1;
      return { ...indexKey(index), id, type: 'function', function: { name, ...args } };
    },
  };
}

function continuation(piece: ToolCallPiece, newest: number, args: { arguments?: string }): ToolCallDelta {
  const { index = newest, id } = piece;
  return { ...indexKey(index), ...(id === undefined ? {} : { id }), function: args };
}

/** The calls that these deltas make up, as a whole answer lists them. */
export function joinToolCalls(deltas: readonly ToolCallDelta[]): Omit<ToolCallDelta, 'index'>[] {
  const calls: { index: number | undefined; call: Omit<ToolCallDelta, 'index'> }[] = [];
  for (const { index, ...call } of deltas) {
    if (call.function.name !== undefined) {
      calls.push({ index, call });
      continue;
    }
    const open = calls.findLast((candidate) => index === undefined || candidate.index === index);
    if (open === undefined) continue;
    const joined = (open.call.function.arguments ?? '') + (call.function.arguments ?? '');
    open.call = { ...open.call, function: { ...open.call.function, arguments: joined } };
  }
  return calls.map(({ call }) => call);
}

function indexKey(index: number | null): { index?: number } {
  return index === null ? {} : { index };
}
