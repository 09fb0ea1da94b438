import type { PlannedCall } from '@turnwire/shared/domain/decide-progress';
import type { TurnError } from '@turnwire/shared/domain/turn';
import type { Usage } from '@turnwire/shared/domain/usage';
import type { RawReply } from './read-reply.ts';

/** What a model's reply leads to. */
export type ModelReply =
  | {
      readonly kind: 'tool_calls';
      readonly text: string;
      readonly calls: readonly PlannedCall[];
      readonly usage: Usage;
    }
  | { readonly kind: 'final'; readonly usage: Usage }
  /** Stopped at the output limit: what there is is the answer, and half a tool call is none. */
  | { readonly kind: 'truncated'; readonly usage: Usage }
  /** Stopped at the output limit before there was anything to show. */
  | { readonly kind: 'cut_off'; readonly usage: Usage }
  | { readonly kind: 'empty'; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly error: TurnError; readonly usage: Usage }
  | { readonly kind: 'stopped' };

/**
 * Decides by what is there, not by the finish reason alone: several providers say `stop` although they ask for tools.
 */
export function classifyReply(raw: RawReply, calls: readonly PlannedCall[]): ModelReply {
  const { text, usage, finishReason } = raw;
  const answered = text.trim() !== '';
  if (finishReason === 'length') return { kind: answered ? 'truncated' : 'cut_off', usage };
  if (calls.length > 0) return { kind: 'tool_calls', text, calls, usage };
  return answered ? { kind: 'final', usage } : { kind: 'empty', usage };
}
