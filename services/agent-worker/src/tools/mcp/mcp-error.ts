import { ToolError } from '../tool-error.ts';

/** The server does not know this connection's session: it was restarted, or has let it go. The call has not run. */
export class SessionGone extends Error {
  override readonly name = 'SessionGone';
}

// JSON-RPC's and the SDK's own codes.
const CONNECTION_CLOSED = -32000;

/** What to throw for an error of a call: the model reads the sentence. */
export function toCallError(error: unknown, server: string): Error {
  if (error instanceof ToolError) return error;
  if (!(error instanceof Error)) return new ToolError(`The MCP server "${server}" failed.`);
  const code = 'code' in error && typeof error.code === 'number' ? error.code : null;
  if (code === 404) return new SessionGone(`The MCP server "${server}" does not know the session.`, { cause: error });
  if (code === CONNECTION_CLOSED && error.message.includes('Connection closed')) {
    const message = `The connection to the MCP server "${server}" was lost; whether the call took effect is not known.`;
    return new ToolError(message, { cause: error });
  }
  if (code !== null && code >= 400)
    return new ToolError(`The MCP server "${server}" answered HTTP ${code}.`, { cause: error });
  if (error.name === 'McpError')
    return new ToolError(error.message.replace(/^MCP error -?\d+: /, ''), { cause: error });
  return new ToolError(`The MCP server "${server}" cannot be used now.`, { cause: error });
}
