import {
  mcpServerNameSchema,
  mcpServerOf,
  mcpServerSchema,
  mcpServerView,
  putMcpServerSchema,
} from '@turnwire/shared/contracts/http-mcp-servers';
import { AppError } from '@turnwire/shared/domain/errors';
import type { App } from '../app-type.ts';
import { keepSecrets } from './keep-secrets.ts';
import { registrationRoutes } from './registrations.ts';
import type { RouteDeps } from './route-deps.ts';

export function mcpServerRoutes(app: App, { store, toolsAllowStdio }: RouteDeps): void {
  registrationRoutes(app, {
    store: store.mcpServers,
    plural: 'mcp-servers',
    noun: 'McpServer',
    title: 'MCP server',
    name: mcpServerNameSchema,
    body: putMcpServerSchema,
    answer: mcpServerSchema,
    view: mcpServerView,
    parse(name, body, stored) {
      const server = mcpServerOf(name, body);
      if (server.transport === 'stdio') {
        if (!toolsAllowStdio) throw commandsRefused();
        const known = stored?.transport === 'stdio' ? stored.env : {};
        return { ...server, env: keepSecrets('env', server.env, known) };
      }
      const known = stored?.transport === 'http' ? stored.headers : {};
      return { ...server, headers: keepSecrets('headers', server.headers, known) };
    },
  });
}

function commandsRefused(): AppError {
  const message =
    'This server starts no commands for MCP servers: give a "url", or have its operator set TOOLS_ALLOW_STDIO.';
  return new AppError('forbidden', message);
}
