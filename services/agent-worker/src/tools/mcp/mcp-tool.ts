import type { JsonObject } from '@turnwire/shared/domain/json';
import type { Tool, ToolCallContext } from '@turnwire/shared/ports/tool';
import type { ListedTool } from './listed-tool.ts';

type Call = (args: JsonObject, context: ToolCallContext) => Promise<string>;

/** An MCP server's tool under the name that agents and events know it by. */
export function createMcpTool(
  server: string,
  { name, description, parameters, idempotent }: ListedTool,
  call: Call,
): Tool {
  return {
    definition: { name: `mcp:${server}/${name}`, description, parameters },
    idempotent,
    timeoutMs: null,
    run: call,
  };
}
