/** What an agent's tool patterns ask of each source of tools. `all`: a wildcard reaches further than names can say. */
export interface WantedTools {
  readonly httpTools: ReadonlySet<string> | 'all';
  readonly mcpServers: ReadonlySet<string> | 'all';
}

const MCP = 'mcp:';

/** Which registrations have to be looked at, so that an agent that names its tools costs no more than those look-ups. */
export function wantedTools(patterns: readonly string[], builtIn: ReadonlySet<string>): WantedTools {
  const httpTools = new Set<string>();
  const mcpServers = new Set<string>();
  let allTools = false;
  let allServers = false;
  for (const pattern of patterns) {
    const start = pattern.endsWith('*') ? pattern.slice(0, -1) : null;
    const server = /^mcp:([^/*]+)\//.exec(pattern)?.[1];
    if (server !== undefined) {
      mcpServers.add(server);
    } else if (start !== null) {
      allServers ||= start.startsWith(MCP) || MCP.startsWith(start);
      allTools ||= !start.startsWith(MCP);
    } else if (!pattern.startsWith(MCP) && !builtIn.has(pattern)) {
      httpTools.add(pattern);
    }
  }
  return { httpTools: allTools ? 'all' : httpTools, mcpServers: allServers ? 'all' : mcpServers };
}
