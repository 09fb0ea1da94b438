import type { TurnError } from '@turnwire/shared/domain/turn';
import { NO_USAGE } from '@turnwire/shared/domain/usage';
import type { TurnState } from '../turn-state.ts';
import { callModel } from './call-model.ts';
import { callsToDecide } from './calls-to-decide.ts';
import type { EngineContext, EngineResult, Piece } from './engine.ts';
import { openCalls, runTools } from './run-tools.ts';

/**
 * Think, call tools, observe, again: for as long as the stored turn runs, nothing stops it and steps are left. Each
 * round looks at the state alone, so a turn that was taken up elsewhere goes on where it was.
 */
export async function* runLoop(
  context: EngineContext,
  state: TurnState,
  signal: AbortSignal,
): AsyncGenerator<Piece, EngineResult> {
  const { agent, toolbox } = context;
  while (state.turn.status === 'RUNNING' && !signal.aborted) {
    const tools = await toolbox.tools(agent.tenantId, agent.tools);
    const open = openCalls(state);
    if (open.length > 0) {
      const callIds = callsToDecide(agent, open, tools);
      if (callIds.length > 0) return { kind: 'interrupt', reason: 'tool_approval', callIds };
      await runTools(context, state, tools, signal);
      continue;
    }
    const step = state.turn.steps + 1;
    if (step > agent.maxSteps) return failed(outOfSteps(agent.maxSteps));
    yield { type: 'step.started', data: { step } };
    const reply = yield* callModel(context, { state, tools, step, signal });
    switch (reply.kind) {
      case 'tool_calls': {
        const { text, calls, usage } = reply;
        await state.recordStep({ step, message: { id: context.ids.next('msg'), content: text }, calls, usage });
        break;
      }
      case 'final':
        return { kind: 'answer', truncated: false, usage: reply.usage };
      case 'truncated':
        return { kind: 'answer', truncated: true, usage: reply.usage };
      case 'cut_off':
        return { kind: 'error', error: outOfTokens(agent.model.maxOutputTokens), usage: reply.usage };
      case 'empty':
        return { kind: 'error', error: noAnswer(), usage: reply.usage };
      case 'failed':
        return { kind: 'error', error: reply.error, usage: reply.usage };
      case 'stopped':
        return { kind: 'stopped' };
    }
  }
  return { kind: 'stopped' };
}

function failed(error: TurnError): EngineResult {
  return { kind: 'error', error, usage: NO_USAGE };
}

function outOfSteps(maxSteps: number): TurnError {
  return { code: 'max_steps', message: `The turn used its ${maxSteps} steps without coming to an answer.` };
}

function outOfTokens(limit: number | null): TurnError {
  const whose =
    limit === null ? "the provider's, since the agent sets no maxOutputTokens" : `maxOutputTokens: ${limit}`;
  const message = `The model reached its output limit (${whose}) before it had answered: raise maxOutputTokens.`;
  return { code: 'empty_response', message };
}

function noAnswer(): TurnError {
  return { code: 'empty_response', message: 'The model answered nothing, even when asked again.' };
}
