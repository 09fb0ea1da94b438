import type { IntentFinder } from './intent.ts';

const NUMBER = '(\\d+(?:\\.\\d+)?)';

/** Words and signs of arithmetic, in English and Chinese, as operators; applied in this order. */
const REWRITES: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d{1,2}-\d{1,2}|\d{1,2}:\d{2}/g, ' '],
  [/(\d),(?=\d{3}(?!\d))/g, '$1'],
  [/×/g, '*'],
  [/÷/g, '/'],
  [/[−–]/g, '-'],
  [/(\d)\s*x\s*(?=\d)/gi, '$1 * '],
  [new RegExp(`${NUMBER}\\s*(?:%|percent)\\s+of\\s+${NUMBER}`, 'gi'), '($1 / 100) * $2'],
  [new RegExp(`${NUMBER}\\s*的\\s*百分之\\s*${NUMBER}`, 'g'), '$1 * ($2 / 100)'],
  [new RegExp(`${NUMBER}\\s*的\\s*${NUMBER}\\s*%`, 'g'), '$1 * ($2 / 100)'],
  [new RegExp(`square root of\\s+${NUMBER}|根号\\s*${NUMBER}|${NUMBER}\\s*的平方根`, 'gi'), 'sqrt($1$2$3)'],
  [new RegExp(`${NUMBER}\\s*的\\s*${NUMBER}\\s*次方`, 'g'), '$1 ^ $2'],
  [/\s*(?:的平方|squared)/gi, ' ^ 2'],
  [/\s*(?:的立方|cubed)/gi, ' ^ 3'],
  [/\s*(?:to the power of|raised to)\s*/gi, ' ^ '],
  [/\s*(?:multiplied by|times|乘以|乘上|乘)\s*(?=[-(\d])/gi, ' * '],
  [/\s*(?:divided by|over|除以)\s*(?=[-(\d])/gi, ' / '],
  [/\s*(?:plus|加上|加)\s*(?=[-(\d])/gi, ' + '],
  [/\s*(?:minus|减去|减)\s*(?=[-(\d])/gi, ' - '],
];

const RUN = /(?:sqrt|[\d.()+\-*/^% \t])+/g;
const OPERATION = /sqrt\(|[\d)%]\s*[-+*/^%]\s*[-(\d.s]/;
const STRONG = /[*^]|sqrt|[-+*/]\s*\(|\)\s*[-+*/]/;
const ASKED_BEFORE =
  /(?:calculate|compute|evaluate|solve|work out|what(?:'s|’s|s| is)|how much is|(?:result|value|sum) of|calculator|计算|算|请问|求)(?:\s|the|result|value|of|me|for|to|:|一下|出)*$/i;
const ASKED_AFTER = /^\s*(?:=|\?|等于|是多少|得多少|是几|得几|的结果|equals)/i;

/** Arithmetic that a text asks for, as expressions of digits, `+ - * / ^ % ( )` and `sqrt`. */
export const findCalculation: IntentFinder = (text) => {
  const rewritten = REWRITES.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text);
  return [...rewritten.matchAll(RUN)].flatMap(({ index, 0: run }) => {
    const subject = trimExpression(run);
    if (!OPERATION.test(subject)) return [];
    const before = rewritten.slice(0, index);
    const after = rewritten.slice(index + run.trimEnd().length);
    const alone = before.trim() === '' && after.trim() === '';
    const asked = alone || STRONG.test(subject) || ASKED_BEFORE.test(before) || ASKED_AFTER.test(after);
    return asked ? [{ at: index, subject }] : [];
  });
};

/** Drops what cannot begin or end an expression, and parentheses without a partner. */
function trimExpression(run: string): string {
  let expression = run.replace(/^[\s+*/^%.)]+/, '').replace(/[\s+\-*/^.(]+$/, '');
  while (expression.startsWith('(') && depth(expression) > 0) expression = expression.slice(1).trimStart();
  while (expression.endsWith(')') && depth(expression) < 0) expression = expression.slice(0, -1).trimEnd();
  return depth(expression) === 0 ? expression : '';
}

function depth(expression: string): number {
  return expression.split('(').length - expression.split(')').length;
}
