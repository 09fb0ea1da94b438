import { escapeRegExp } from './escape-regexp.ts';

/** A tool that a text names. `rest` is the stretch up to the next named one, or without end: its arguments' source. */
export type NamedTool = { tool: string; at: number; rest: readonly [start: number, end: number] };

const VERB =
  '(?:use|call|run|invoke|execute|try|trigger|使用|调用|运行|执行|用)(?:\\s|the|a|an|tool|function|named|called|工具|一下|:)*[`"\'“「]?';
const CLAUSE = '(?:^|[.,;!?:\\n。]\\s*|\\b(?:please|and|then|to|you|now|also|me)\\s+|请|帮我)(?:please\\s+|then\\s+)?';

/**
 * The offered tools that a text tells to call, in its order: by a verb and the name ('use send_email', '调用
 * send_email'), or by the name's words opening a clause ('send an email to …' for `send_email`).
 */
export function findNamedTools(text: string, names: readonly string[]): NamedTool[] {
  const found = names.flatMap((tool) => {
    const hit = aliasesOf(tool)
      .map((alias) => findOne(text, alias))
      .find((one) => one !== undefined);
    return hit === undefined ? [] : [{ tool, ...hit }];
  });
  found.sort((one, other) => one.at - other.at);
  return found.map(({ tool, at, end }, index) => ({
    tool,
    at,
    rest: [end, found[index + 1]?.at ?? Number.POSITIVE_INFINITY],
  }));
}

/** A tool that a text tells to call by a name with an underscore, or in backticks, and that is not among these. */
export function findUnknownTool(text: string, names: readonly string[]): string | undefined {
  const pattern = new RegExp(`${VERB}([A-Za-z][\\w:/-]*)(\`)?`, 'giu');
  for (const [, name, quoted] of text.matchAll(pattern)) {
    if (name === undefined || (!name.includes('_') && quoted === undefined)) continue;
    if (!names.some((known) => aliasesOf(known).includes(name.replace(/[:/]/g, '__')))) return name;
  }
  return undefined;
}

/** The name, and for a tool of a server (`mcp__files__read_file`) also its last part. */
function aliasesOf(tool: string): string[] {
  const last = tool.split(/__|[:/.]/).at(-1) ?? tool;
  return last === tool || last === '' ? [tool] : [tool, last];
}

function findOne(text: string, name: string): { at: number; end: number } | undefined {
  // `mcp:files/read` reaches a model as `mcp__files__read`; people know it by the first.
  const exact = escapeRegExp(name).replaceAll('__', '(?:__|[:/])');
  const words = name
    .split(/[_-]+/)
    .filter((word) => word !== '')
    .map(escapeRegExp);
  const spoken = words.join('\\s+(?:an?\\s+|the\\s+|my\\s+)?');
  const patterns = [
    new RegExp(`${VERB}${exact}(?![\\w-])`, 'iu'),
    new RegExp(`${CLAUSE}(?:${exact}|${spoken})(?![\\w-])`, 'iu'),
  ];
  for (const pattern of patterns) {
    const match = pattern.exec(text);
    if (match !== null) return { at: match.index, end: match.index + match[0].length };
  }
  return undefined;
}
