import type { Tool } from '@turnwire/shared/ports/tool';
import type { ComputeThread } from './compute-thread.ts';
import { stringArgument } from './string-argument.ts';
import { ToolError } from './tool-error.ts';

const MAX_CHARS = 500;

const definition = {
  name: 'calculator',
  description:
    'Evaluates a mathematical expression with exact decimals: + - * / ^ % !, comparisons, units ("5 inch to cm"), pi, e, ' +
    'and functions such as sqrt, log, ln, sin, round, min, max, mean, gcd, mod, combinations.',
  parameters: {
    type: 'object',
    properties: { expression: { type: 'string', description: 'Such as "0.1 + 0.2" or "(3 + 4)^2 / sqrt(2)".' } },
    required: ['expression'],
    additionalProperties: false,
  },
};

/** @param evaluate Evaluates an expression where it can be stopped. */
export function createCalculatorTool(evaluate: ComputeThread['run']): Tool {
  return {
    definition,
    idempotent: true,
    timeoutMs: null,
    async run(args, { signal }) {
      const expression = stringArgument(args, 'expression');
      if (expression.length > MAX_CHARS) throw new ToolError(`An expression may have at most ${MAX_CHARS} characters.`);
      return evaluate(expression, signal);
    },
  };
}
