import { all, type BigNumber, create, type MathNode } from 'mathjs';
import { CONSTANTS, FUNCTIONS, LOOPS, NODES, OPERATORS, TRIGONOMETRY } from './calculator-language.ts';

declare module 'mathjs' {
  // The package's types leave its number class out.
  interface MathJsInstance {
    readonly BigNumber: {
      new (value: number): BigNumber;
      config(options: { readonly precision: number; readonly maxE: number; readonly minE: number }): void;
    };
  }
}

const DIGITS = 64;

const math = create(all ?? {}, { number: 'BigNumber', precision: DIGITS });
math.import({ ln: math.log, ...boundedLoops(), ...trigonometry() }, { override: true });

/** The value of an expression of the calculator's language, as text. Throws an error with one sentence. */
export function evaluateExpression(expression: string): string {
  restoreNumbers();
  const tree = parse(normalized(expression));
  tree.traverse(check);
  try {
    return toText(tree.evaluate());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(message.startsWith('[DecimalError]') ? 'A number in it is too large or too small.' : message);
  }
}

/**
 * Numbers beyond 1e±1000 are infinite or zero, which also bounds how long operations on them take. Set anew each time:
 * an operation of decimal.js that throws leaves its raised precision behind, and a flag that the next root resets.
 */
function restoreNumbers(): void {
  math.BigNumber.config({ precision: DIGITS, maxE: 1000, minE: -1000 });
  new math.BigNumber(2).sqrt();
}

/** As people and models write it: `×`, `÷`, `−`, `**`, and the full-width forms of Chinese keyboards. */
function normalized(expression: string): string {
  return expression
    .replace(/[\uFF01-\uFF5E]/g, (char) => String.fromCharCode(char.charCodeAt(0) - 0xfee0))
    .replace(/[×·]/g, '*')
    .replace(/÷/g, '/')
    .replace(/[−–]/g, '-')
    .replace(/\*\*/g, '^')
    .replace(/π/g, 'pi')
    .replace(/√/g, 'sqrt');
}

function parse(expression: string): MathNode {
  try {
    return math.parse(expression);
  } catch (error) {
    throw new Error(`The expression cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Lets through what yields single numbers and units only: no matrices, ranges, texts, variables or own functions. */
function check(node: MathNode, path: string): void {
  if (!NODES.has(node.type)) throw new Error(`The calculator takes single numbers and units only, no ${kindOf(node)}.`);
  if (math.isOperatorNode(node) && !OPERATORS.has(node.fn)) {
    throw new Error(`The calculator does not know the operator "${node.op}".`);
  }
  if (math.isFunctionNode(node) && !FUNCTIONS.has(node.fn.name)) {
    throw new Error(`The calculator does not know the function "${node.fn.name}".`);
  }
  if (math.isConstantNode(node) && !['BigNumber', 'number', 'boolean'].includes(math.typeOf(node.value))) {
    throw new Error('The calculator takes single numbers and units only, no texts.');
  }
  if (math.isSymbolNode(node) && path !== 'fn') checkName(node.name);
}

function checkName(name: string): void {
  if (CONSTANTS.has(name)) return;
  if (FUNCTIONS.has(name)) throw new Error(`The function "${name}" needs its arguments in parentheses.`);
  if (!math.Unit.isValuelessUnit(name)) throw new Error(`The calculator does not know "${name}".`);
}

function kindOf({ type }: MathNode): string {
  const kinds: Readonly<Record<string, string>> = { ArrayNode: 'lists', RangeNode: 'ranges' };
  return kinds[type] ?? (type.includes('Assignment') ? 'variables or functions of its own' : 'such expressions');
}

type MathFunction = (...args: unknown[]) => unknown;

function boundedLoops(): Record<string, MathFunction> {
  return {
    factorial: bounded('factorial', math.factorial, LOOPS.factorial),
    combinations: bounded('combinations', math.combinations, LOOPS.combinations),
    permutations: bounded('permutations', math.permutations, LOOPS.permutations),
  };
}

function bounded(name: string, original: (...args: never[]) => unknown, largest: number): MathFunction {
  return (...args) => {
    const fits = args.every((arg) => math.isBigNumber(arg) && arg.isInteger() && !arg.isNegative() && arg.lte(largest));
    if (!fits) throw new Error(`The function "${name}" takes whole numbers from 0 to ${largest} here.`);
    return Reflect.apply(original, undefined, args);
  };
}

function trigonometry(): Record<string, MathFunction> {
  const entries = Object.entries(TRIGONOMETRY).map(([name, compute]): [string, MathFunction] => [
    name,
    (x, y = 0) => math.bignumber(compute(toDouble(name, x), toDouble(name, y))),
  ]);
  return Object.fromEntries(entries);
}

function toDouble(name: string, value: unknown): number {
  if (math.isBigNumber(value) || typeof value === 'number') return Number(value);
  if (math.isUnit(value) && value.hasBase('ANGLE')) return Number(value.toNumeric('rad'));
  throw new Error(`The function "${name}" takes real numbers and angles only.`);
}

function toText(value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return toText(math.bignumber(value));
  if (math.isBigNumber(value)) return numberText(value);
  if (math.isUnit(value) || math.isComplex(value)) {
    const text = math.format(value, { precision: 15, lowerExp: -9, upperExp: 21 });
    if (!/NaN|Infinity/.test(text)) return text;
  }
  throw new Error('The result is not a number.');
}

function numberText(value: BigNumber): string {
  if (value.isNaN()) throw new Error('The result is not a number.');
  if (!value.isFinite()) throw new Error('The result is infinite: a division by zero, or more than 1e1000.');
  // Whole numbers with all of their digits, others rounded to where the last operation's error cannot be seen.
  const isWhole = value.isInteger();
  return math.format(value, { precision: isWhole ? DIGITS : 20, lowerExp: -9, upperExp: isWhole ? DIGITS : 21 });
}
