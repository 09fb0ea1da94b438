import type { Agent } from '@turnwire/shared/domain/agent';
import type { Checkpoint } from '@turnwire/shared/domain/turn';

/**
 * The one system message, by parts: fixed rules, the agent's prompt with the memories (frozen for the turn), and last
 * what changes with the step, so that providers' prompt caches keep what comes before.
 */
export function leadingMessage(agent: Agent, checkpoint: Checkpoint | null, step: number): string {
  const parts = [fixedRules(agent), checkpoint?.systemPrompt ?? '', stepNote(agent, step)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function fixedRules(agent: Agent): string {
  if (agent.tools.length === 0) return '';
  return [
    'You can call tools. Call one when it helps, several at once when they do not depend on each other.',
    'If a tool reports an error, repair the call or tell the user what went wrong; never invent a result.',
    'If a person rejects a call, do not repeat it: tell the user, or find another way.',
  ].join('\n');
}

/** Said only when it matters: a model that is told of every step writes about steps. */
function stepNote(agent: Agent, step: number): string {
  const left = agent.maxSteps - step;
  if (step === 1 || left > 2) return '';
  return left === 0
    ? 'This is the last step: answer now, without calling tools.'
    : `Steps left after this one: ${left}.`;
}
