import type { ToolDefinition } from './chat-request.ts';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * What a strict provider would refuse in the tools of a request, one sentence each; empty when they are valid.
 * OpenAI refuses names with other characters than letters, digits, `_` and `-`, and names over 64 characters.
 */
export function validateTools(tools: readonly ToolDefinition[] | null | undefined): string[] {
  if (tools === undefined || tools === null) return [];
  if (tools.length === 0) return ['tools is an empty array'];
  const seen = new Set<string>();
  return tools.flatMap((tool, index) => {
    const { name, parameters } = tool.function;
    const faults: string[] = [];
    if (tool.type !== 'function') faults.push(`tools[${index}]: type must be 'function'`);
    if (typeof name !== 'string' || !NAME.test(name)) {
      faults.push(`tools[${index}]: name '${name}' does not match ${NAME.source}`);
    }
    if (seen.has(name)) faults.push(`tools[${index}]: name '${name}' is used twice`);
    seen.add(name);
    if (parameters !== undefined && parameters.type !== 'object') {
      faults.push(`tools[${index}]: parameters must be a schema of type 'object'`);
    }
    return faults;
  });
}
