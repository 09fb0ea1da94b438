import { realClock } from '@turnwire/shared/testing/real-clock';
import { afterAll, describe, expect, it } from 'vitest';
import { createCalculatorTool } from './calculator.ts';
import { createComputeThread } from './compute-thread.ts';
import { callContext } from './fixtures/call-context.ts';

describe('calculator', () => {
  const thread = createComputeThread({
    module: new URL('./calculator-thread.ts', import.meta.url),
    limitMs: 2_000,
    clock: realClock,
  });
  afterAll(() => thread.close());
  const calculator = createCalculatorTool(thread.run);
  const calculate = (expression: string) => calculator.run({ expression }, callContext());

  it.each([
    ['0.1 + 0.2', '0.3'],
    ['1.005 * 1000', '1005'],
    ['1/3', '0.33333333333333333333'],
    ['2^200', '1606938044258990275541962092341162602522202993782792835301376'],
    ['sqrt(2)^2', '2'],
    ['100 + 5%', '105'],
    ['10 % 3', '1'],
    ['10!', '3628800'],
    ['5 inch to cm', '12.7 cm'],
    ['20 degC to degF', '68 degF'],
    ['sin(30 deg) + cos(pi / 2)', '0.5'],
    ['ln(e^3)', '3'],
    ['log(8, 2)', '3'],
    ['combinations(49, 6)', '13983816'],
    ['median(3, 1, 2)', '2'],
    ['sqrt(-4)', '2i'],
    ['1 < 2 ? 10 : 20', '10'],
    ['3 × 4 ÷ 2 − 1', '5'],
    ['(1+2)×3', '9'],
    ['2 ** 0.5', '1.4142135623730950488'],
  ])('%s = %s', async (expression, result) => {
    expect(await calculate(expression)).toBe(result);
  });

  it.each([
    ['1 / 0', 'The result is infinite: a division by zero, or more than 1e1000.'],
    ['9^9^9^9', 'The result is infinite: a division by zero, or more than 1e1000.'],
    ['factorial(1e9)', 'The function "factorial" takes whole numbers from 0 to 450 here.'],
    ['170000!', 'The function "factorial" takes whole numbers from 0 to 450 here.'],
    ['combinations(1e15, 5e14)', 'The function "combinations" takes whole numbers from 0 to 10000 here.'],
    ['ones(1e9)', 'The calculator does not know the function "ones".'],
    ['1:1e12', 'The calculator takes single numbers and units only, no ranges.'],
    ['sum(1:1e12)', 'The calculator takes single numbers and units only, no ranges.'],
    ['[1, 2]', 'The calculator takes single numbers and units only, no lists.'],
    ['f(x) = x', 'The calculator takes single numbers and units only, no variables or functions of its own.'],
    ['sqrt = 1', 'The calculator takes single numbers and units only, no variables or functions of its own.'],
    ['import({a: 1})', 'The calculator does not know the function "import".'],
    ['createUnit("x")', 'The calculator does not know the function "createUnit".'],
    ['evaluate("1")', 'The calculator does not know the function "evaluate".'],
    ['config({})', 'The calculator does not know the function "config".'],
    ['"a"', 'The calculator takes single numbers and units only, no texts.'],
    ['a.constructor', 'The calculator takes single numbers and units only, no such expressions.'],
    ['constructor', 'The calculator does not know "constructor".'],
    ['__proto__', 'The calculator does not know "__proto__".'],
    ['toString()', 'The calculator does not know the function "toString".'],
    ['sin 3', 'The function "sin" needs its arguments in parentheses.'],
    ['1 m + 1 s', 'Units do not match'],
    ['(1 + 2', 'The expression cannot be read: Parenthesis ) expected (char 7)'],
  ])('refuses %s: %s', async (expression, message) => {
    await expect(calculate(expression)).rejects.toThrow(message);
  });

  it('bounds the length of an expression, and the depth that comes with it', async () => {
    await expect(calculate('1+'.repeat(250) + 1)).rejects.toThrow('An expression may have at most 500 characters.');
    expect(await calculate(`${'('.repeat(249)}1${')'.repeat(249)}`)).toBe('1');
  });

  it('gives the same answer after an operation that failed', async () => {
    for (const hostile of [
      'nthRoot(1e999, 1e-999)',
      'log(1e999, 1e-999)',
      'pow(1e-999, 1e999)',
      'mod(1e999, 1e-999)',
    ]) {
      await calculate(hostile).catch(() => {});
      expect(await calculate('pow(2, 0.5) + 1/3')).toBe('1.7475468957064283821');
    }
  });

  it('is quick for whatever can be written', async () => {
    const values = ['1e999', '-9e999', '1e-999', '1/3', '3^628', '(1 + 1e-60)', '1e15+1', 'sqrt(-2)'];
    const functions = ['pow', 'nthRoot', 'log', 'mod', 'gcd', 'lcm', 'hypot', 'atan2', 'round', 'permutations', 'std'];
    for (const fn of functions) {
      for (const a of values) {
        for (const b of values) {
          const outcome = await calculate(`${fn}(${a}, ${b})`).catch((error: Error) => error.message);
          expect(outcome).not.toContain('and was stopped');
        }
      }
    }
  });
});
