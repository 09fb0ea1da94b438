/** What a calculator's expression may be made of: only what yields single numbers, so that nothing grows without bound. */
export const NODES: ReadonlySet<string> = new Set([
  'ConditionalNode',
  'ConstantNode',
  'FunctionNode',
  'OperatorNode',
  'ParenthesisNode',
  'RelationalNode',
  'SymbolNode',
]);

export const OPERATORS: ReadonlySet<string> = new Set([
  ...['add', 'subtract', 'multiply', 'divide', 'mod', 'pow', 'unaryMinus', 'unaryPlus', 'factorial', 'to'],
  ...['equal', 'unequal', 'smaller', 'smallerEq', 'larger', 'largerEq', 'and', 'or', 'xor', 'not'],
]);

export const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['abs', 'sign', 'ceil', 'floor', 'round', 'fix', 'mod', 'gcd', 'lcm', 'min', 'max', 'sum', 'prod'],
  ...['mean', 'median', 'variance', 'std', 'hypot', 'pow', 'sqrt', 'cbrt', 'nthRoot', 'square', 'cube'],
  ...['exp', 'ln', 'log', 'log2', 'log10', 'factorial', 'combinations', 'permutations'],
  ...['sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'asin', 'acos', 'atan', 'atan2', 'sinh', 'cosh', 'tanh'],
]);

export const CONSTANTS: ReadonlySet<string> = new Set(['pi', 'e', 'tau', 'phi']);

/** Functions that loop up to their arguments, with the largest argument that is quick and has a finite result. */
export const LOOPS = { factorial: 450, combinations: 10_000, permutations: 10_000 } as const;

/**
 * In double precision, since with 64 digits a single `atan(1e-999)` or `sinh(1e999)` never ends. Rounded so that the
 * error of the last digit does not show: `sin(30 deg)` is 0.5 and `cos(pi / 2)` is 0.
 */
export const TRIGONOMETRY: Readonly<Record<string, (x: number, y: number) => number>> = {
  sin: (x) => rounded(Math.sin(x), x),
  cos: (x) => rounded(Math.cos(x), x),
  tan: (x) => 1 / rounded(1 / Math.tan(x), x),
  cot: (x) => rounded(1 / Math.tan(x), x),
  sec: (x) => 1 / rounded(Math.cos(x), x),
  csc: (x) => 1 / rounded(Math.sin(x), x),
  asin: (x) => rounded(Math.asin(x), x),
  acos: (x) => rounded(Math.acos(x), x),
  atan: (x) => rounded(Math.atan(x), x),
  atan2: (y, x) => rounded(Math.atan2(y, x), y),
  sinh: (x) => rounded(Math.sinh(x), x),
  cosh: (x) => rounded(Math.cosh(x), x),
  tanh: (x) => rounded(Math.tanh(x), x),
};

function rounded(value: number, argument: number): number {
  if (Math.abs(value) < 1e-14 && Math.abs(argument) > 0.1) return 0;
  return Number.isFinite(value) ? Number(value.toPrecision(15)) : value;
}
