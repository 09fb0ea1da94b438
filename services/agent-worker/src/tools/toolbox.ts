import { coversTool } from '@turnwire/shared/domain/agent';
import type { Clock } from '@turnwire/shared/ports/clock';
import type { Logger } from '@turnwire/shared/ports/logger';
import type { Store } from '@turnwire/shared/ports/store';
import type { Tool, Toolbox } from '@turnwire/shared/ports/tool';
import { createBuiltInTools } from './built-in-tools.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { createHttpTools } from './http/http-tools.ts';
import { createMcpServers } from './mcp/mcp-servers.ts';
import { isPublicAddress } from './public-address.ts';
import { wantedTools } from './tool-patterns.ts';

export interface ToolboxDependencies {
  readonly store: Pick<Store, 'tools' | 'mcpServers'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: ToolboxOptions;
}

export interface ToolboxOptions {
  /** Lets `fetch_url`, HTTP tools and MCP servers reach addresses that are not of the public internet. */
  readonly toolsAllowPrivate: boolean;
  /** Whether `get_weather` may answer a recording, marked as one, when there is no network. */
  readonly recordedWeather: boolean;
  /** Whether registered MCP servers that are programs are started: whoever registers one runs commands on this machine. */
  readonly toolsAllowStdio: boolean;
}

/** Built-in tools, and those that a tenant has registered: HTTP endpoints and MCP servers. */
export function createToolbox({ store, clock, log, options }: ToolboxDependencies): Toolbox {
  const { toolsAllowPrivate, recordedWeather, toolsAllowStdio } = options;
  const guarded = createGuardedFetch({ permits: toolsAllowPrivate ? () => true : isPublicAddress });
  const { fetch } = guarded;
  const builtIn = createBuiltInTools({ clock, fetch, recordedWeather });
  const httpTools = createHttpTools(store.tools, fetch);
  const mcpServers = createMcpServers({ store: store.mcpServers, fetch, clock, log, toolsAllowStdio });
  return {
    async tools(tenantId, patterns) {
      const wanted = wantedTools(patterns, builtIn.names);
      const registered = await Promise.all([
        httpTools.find(tenantId, wanted.httpTools),
        mcpServers.find(tenantId, wanted.mcpServers),
      ]);
      return byName(
        [...registered.flat(), ...builtIn.tools].filter(({ definition }) => coversTool(patterns, definition.name)),
      );
    },
    async close() {
      await Promise.all([mcpServers.close(), builtIn.close()]);
      await guarded.close();
    },
  };
}

/** In the order of their names, so that a prompt stays the same from step to step. The last one of a name is taken. */
function byName(tools: readonly Tool[]): readonly Tool[] {
  const named = new Map(tools.map((tool) => [tool.definition.name, tool]));
  return [...named.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
}
