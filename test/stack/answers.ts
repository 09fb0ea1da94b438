import type { ModelHandler } from '@turnwire/demo-model/model-handler';
import type { ToolCallPiece } from '@turnwire/demo-model/reply';
import { byConversation, type Step } from '@turnwire/demo-model/script';

/** Asks for these calls, and goes on with the step as soon as they are answered. */
export function callsThen(toolCalls: readonly ToolCallPiece[], next: Step): ModelHandler {
  return byConversation((messages) => (messages.at(-1)?.role === 'tool' ? next : { toolCalls }));
}

/** One answer, piece by piece. */
export function pieces(
  count: number,
  paceMs: number,
  prefix = 'w',
): { readonly text: string[]; readonly paceMs: number } {
  return { text: Array.from({ length: count }, (_, i) => `${prefix}${i} `), paceMs };
}
