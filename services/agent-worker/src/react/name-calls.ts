import type { PlannedCall } from '@turnwire/shared/domain/decide-progress';
import type { Ids } from '@turnwire/shared/ports/clock';
import type { Tool } from '@turnwire/shared/ports/tool';
import { modelToolName } from '../tools/model-tool-name.ts';
import type { TurnState } from '../turn-state.ts';
import type { AssembledCall } from './assemble-calls.ts';

/**
 * Gives the model's calls the names that tools have here, and ids that are unique within the session: a provider's id
 * stays unless it is empty or was used before. In a session of which not all is at hand nobody knows that, so none stays.
 */
export function nameCalls(
  calls: readonly AssembledCall[],
  tools: readonly Tool[],
  { messages }: Pick<TurnState, 'messages'>,
  ids: Ids,
): readonly PlannedCall[] {
  const names = new Map(tools.map(({ definition }) => [modelToolName(definition.name), definition.name]));
  const isWhole = (messages[0]?.seq ?? 1) === 1;
  const used = new Set(messages.flatMap(({ toolCalls }) => (toolCalls ?? []).map(({ id }) => id)));
  return calls.map((call) => {
    const kept = isWhole && call.id !== null && !used.has(call.id) ? call.id : null;
    const id = kept ?? ids.next('call'); // OpenAI takes none of more than 40 characters back
    used.add(id);
    return { id, name: names.get(call.name) ?? call.name, arguments: call.arguments, invalid: call.invalid };
  });
}
