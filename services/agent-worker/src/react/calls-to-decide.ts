import { type Agent, coversTool } from '@turnwire/shared/domain/agent';
import type { ToolCall } from '@turnwire/shared/domain/tool-call';
import type { Tool } from '@turnwire/shared/ports/tool';

/**
 * The calls of a step that a person has to decide before any of the step may start. One that would not be run anyway,
 * because its arguments cannot be read or its tool is not there, is nobody's to decide.
 */
export function callsToDecide(agent: Agent, open: readonly ToolCall[], tools: readonly Tool[]): readonly string[] {
  const known = new Set(tools.map(({ definition }) => definition.name));
  return open
    .filter(({ state, decision }) => (state === 'planned' || state === 'waiting') && decision === null)
    .filter(({ name, invalid }) => invalid === null && known.has(name) && coversTool(agent.approval.tools, name))
    .map(({ id }) => id);
}
