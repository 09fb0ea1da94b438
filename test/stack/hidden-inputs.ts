import type { Node, Program } from 'oxc-parser';
import { walk } from './parse-module.ts';

export interface HiddenInput {
  name: string;
  start: number;
}

const globals = [
  'Date.now',
  'Math.random',
  'performance.now',
  'AbortSignal.timeout',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'setTimeout',
  'setInterval',
];
const modules = ['timers', 'timers/promises', 'perf_hooks'];
const randomNames = /^(random|getRandomValues|webcrypto|generateKey|generatePrime)/;

/** Where a module reads the clock, sets a timer or draws a random value by itself. */
export function findHiddenInputs(program: Program): HiddenInput[] {
  const found: HiddenInput[] = [];
  walk(program, (node, parent) => {
    const name = hiddenInput(node, parent);
    if (name !== undefined) found.push({ name, start: node.start });
  });
  return found;
}

function hiddenInput(node: Node, parent: Node | undefined): string | undefined {
  if (node.type === 'ImportDeclaration') {
    return modules.includes(builtin(node.source.value)) ? node.source.value : undefined;
  }
  if (parent?.type === 'ImportDeclaration') {
    return builtin(parent.source.value) === 'crypto' ? randomImport(node) : undefined;
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    return nameOf(node.callee) === 'Date' && node.arguments.length === 0 ? 'the current Date' : undefined;
  }
  const name = isReference(node, parent) ? nameOf(node) : undefined;
  return name !== undefined && globals.includes(name) ? name : undefined;
}

/** What a part of an import from node:crypto brings in that is random. */
function randomImport(node: Node): string | undefined {
  if (node.type === 'ImportDefaultSpecifier' || node.type === 'ImportNamespaceSpecifier')
    return 'node:crypto as a whole';
  if (node.type !== 'ImportSpecifier') return undefined;
  const name = 'name' in node.imported ? node.imported.name : node.imported.value;
  return randomNames.test(name) ? name : undefined;
}

function builtin(specifier: string): string {
  return specifier.replace(/^node:/, '');
}

/** `Date.now` for `Date.now`, `globalThis.Date.now` and `Date['now']`. */
function nameOf(node: Node): string | undefined {
  if (node.type === 'Identifier') return node.name;
  if (node.type !== 'MemberExpression') return undefined;
  const object = nameOf(node.object);
  const property = propertyOf(node.property, node.computed);
  if (object === undefined || property === undefined) return undefined;
  return object === 'globalThis' ? property : `${object}.${property}`;
}

function propertyOf(node: Node, computed: boolean): string | undefined {
  if (computed) return node.type === 'Literal' ? String(node.value) : undefined;
  return 'name' in node && typeof node.name === 'string' ? node.name : undefined;
}

/** Not a reference to a global: the name of a property, method or import, as in `clock.setTimeout`, `{ setTimeout: 1 }`. */
function isReference(node: Node, parent: Node | undefined): boolean {
  if (parent?.type.startsWith('Import')) return false;
  if (parent?.type === 'MemberExpression') return parent.object === node || parent.computed;
  if (parent !== undefined && 'key' in parent && parent.key === node) {
    return parent.type === 'Property' && parent.shorthand;
  }
  return true;
}
