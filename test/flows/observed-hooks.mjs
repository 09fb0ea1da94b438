// The operator's hooks of `hooks.test.ts`, as an operator writes them: an ES module with named exports. What they see
// is appended, one JSON line a call, to the file that HOOKS_RECORD names.
import { appendFileSync } from 'node:fs';

const record = (hook, context, facts) => {
  const { tenantId, userId, sessionId, turnId } = context;
  appendFileSync(
    process.env.HOOKS_RECORD,
    `${JSON.stringify({ hook, tenantId, userId, sessionId, turnId, ...facts })}\n`,
  );
};

export async function beforeSession(context, { turn, session }) {
  record('beforeSession', context, { attempt: turn.attempt, state: session.state });
  if (turn.text.includes('forbidden')) throw new Error('This is against the house rules.');
  if (turn.text.includes('hang')) await new Promise(() => undefined);
}

export function afterSession(context, { turn }) {
  record('afterSession', context, { status: turn.status });
  if (turn.text.includes('late error')) throw new Error('Too late to matter.');
}

export async function beforeModel(context, { agent, step, request }) {
  record('beforeModel', context, { agentId: agent.id, step, messages: request.messages.length });
  const text = request.messages.at(-1)?.content ?? '';
  if (text.includes('model hook fails')) throw new Error('No model today.');
  if (!text.includes('shout')) return undefined;
  return { ...request, messages: [...request.messages.slice(0, -1), { role: 'user', content: text.toUpperCase() }] };
}

export function afterModel(context, { step, text, toolNames, usage }) {
  record('afterModel', context, { step, text, toolNames, tokens: usage.totalTokens });
}

export function beforeToolUse(context, { toolCallId, name, arguments: args }) {
  record('beforeToolUse', context, { toolCallId, name, arguments: args });
  if (args.refuse === true) throw new Error('Not with this one.');
  return args.secret === undefined ? undefined : { ...args, secret: 'filled in' };
}

export function afterToolUse(context, { toolCallId, name, ok, result }) {
  record('afterToolUse', context, { toolCallId, name, ok, result });
  return result.replaceAll('4111-1111', '[card]');
}

export function onError(context, { where, error }) {
  record('onError', context, { where, code: error.code, message: error.message });
}
