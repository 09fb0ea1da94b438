import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

interface RpcRequest {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { readonly text?: string };
  };
}

export interface McpServer {
  readonly url: string;
  /** Names of the tools that were called. */
  readonly calls: readonly string[];
  /** Of the last request. */
  readonly headers: IncomingHttpHeaders;
  /** Calls that their client gave up, by a message or by leaving. */
  readonly givenUp: () => number;
  close(): Promise<void>;
}

const INPUT = { type: 'object', properties: { text: { type: 'string' } } };
const TOOLS = ['echo', 'fail', 'hang'].map((name) => ({ name, description: `Will ${name}.`, inputSchema: INPUT }));

/**
 * An MCP server over streamable HTTP without sessions, as small as its specification allows: each request is answered
 * by one JSON body (https://modelcontextprotocol.io/specification, transports).
 */
export async function startMcpServer(): Promise<McpServer> {
  const calls: string[] = [];
  let headers: IncomingHttpHeaders = {};
  let givenUp = 0;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    ({ headers } = request);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const rpc: RpcRequest = JSON.parse(body);
    if (rpc.method === 'notifications/cancelled') givenUp += 1;
    if (rpc.id === undefined) return void response.writeHead(202).end();
    const { name = '' } = rpc.params ?? {};
    if (rpc.method === 'tools/call') calls.push(name);
    if (name === 'hang') {
      response.once('close', () => {
        givenUp += 1;
      });
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: resultOf(rpc) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    get headers() {
      return headers;
    },
    givenUp: () => givenUp,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function resultOf({ method, params = {} }: RpcRequest): unknown {
  const text = (content: string) => [{ type: 'text', text: content }];
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'test', version: '1.0.0' };
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    case 'tools/list':
      return { tools: TOOLS };
    case 'tools/call':
      if (params.name === 'fail') return { content: text('No such file.'), isError: true };
      return { content: text(`You said: ${params.arguments?.text}`) };
    default:
      return {};
  }
}
