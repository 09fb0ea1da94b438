import { type Node, type Program, parseSync } from 'oxc-parser';

export interface ImportRecord {
  /** What is imported; undefined if an expression says so. */
  specifier: string | undefined;
  line: number;
}

export interface ParsedModule {
  program: Program;
  imports: ImportRecord[];
  /** The line, from 1, of an offset in the source. */
  lineAt(offset: number): number;
}

/** Parses TypeScript and lists every form of import there is, also of types alone. Throws on a syntax error. */
export function parseModule(file: string, source: string): ParsedModule {
  const { program, errors } = parseSync(file, source, { lang: 'ts', sourceType: 'module' });
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0]?.message}`);
  const lineAt = (offset: number) => source.slice(0, offset).split('\n').length;
  const imports: ImportRecord[] = [];
  walk(program, (node) => {
    const from = sourceOf(node);
    if (from) imports.push({ specifier: literalOf(from), line: lineAt(node.start) });
  });
  return { program, imports, lineAt };
}

/** Calls `visit` for every node below `node`, with its parent, outer ones first. */
export function walk(node: Node, visit: (node: Node, parent: Node | undefined) => void, parent?: Node): void {
  visit(node, parent);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, visit, node);
    }
  }
}

function sourceOf(node: Node): Node | null | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return node.source;
    case 'TSExternalModuleReference':
      return node.expression;
    case 'CallExpression':
      return node.callee.type === 'Identifier' && node.callee.name === 'require' ? node.arguments[0] : undefined;
    default:
      return undefined;
  }
}

function literalOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
  return undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
