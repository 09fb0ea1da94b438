import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request to a tool, as it went. Times are milliseconds since the epoch. */
export interface ToolRun {
  readonly tool: string;
  readonly turnId: string;
  readonly idempotencyKey: string;
  // biome-ignore lint/suspicious/noExplicitAny: arguments are of every shape
  readonly arguments: any;
  readonly headers: IncomingHttpHeaders;
  readonly startedAt: number;
  /** Aborted when the caller left before the answer. */
  readonly signal: AbortSignal;
  outcome: 'running' | 'answered' | 'aborted';
  endedAt: number | null;
}

/** What a tool does with a call: the value is the body of a 200. */
export type ToolBehaviour = (run: ToolRun) => unknown;

/** An answer of another status, to be returned by a behaviour. */
export class ToolStatus {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}

export interface ToolServer {
  readonly runs: readonly ToolRun[];
  /** Names a new tool at this address, for `PUT /v1/tools/{name}`. */
  define(behaviour: ToolBehaviour): { readonly name: string; readonly url: string };
  runsOf(tool: string): readonly ToolRun[];
  close(): Promise<void>;
}

/** HTTP tools that count: each call is kept with its outcome. */
export async function startToolServer(): Promise<ToolServer> {
  const runs: ToolRun[] = [];
  const behaviours = new Map<string, ToolBehaviour>();
  const server = createServer((request, response) => {
    const behaviour = behaviours.get(request.url?.slice(1) ?? '');
    if (behaviour === undefined) return void response.writeHead(404).end();
    void serve(request, response, behaviour, runs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    runs,
    define(behaviour) {
      const name = `tool_${behaviours.size + 1}`;
      behaviours.set(name, behaviour);
      return { name, url: `http://127.0.0.1:${port}/${name}` };
    },
    runsOf: (tool) => runs.filter((run) => run.tool === tool),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  behaviour: ToolBehaviour,
  runs: ToolRun[],
): Promise<void> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const gone = new AbortController();
  const run: ToolRun = {
    tool: request.url?.slice(1) ?? '',
    turnId: String(request.headers['x-turn-id']),
    idempotencyKey: String(request.headers['idempotency-key']),
    arguments: JSON.parse(body),
    headers: request.headers,
    startedAt: Date.now(),
    signal: gone.signal,
    outcome: 'running',
    endedAt: null,
  };
  runs.push(run);
  response.once('close', () => {
    run.outcome = response.writableFinished ? 'answered' : 'aborted';
    run.endedAt = Date.now();
    gone.abort();
  });
  const answer = await answerOf(behaviour, run);
  const { status, body: json } = answer instanceof ToolStatus ? answer : new ToolStatus(200, answer);
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(json));
}

/** A behaviour that throws is a tool that fails. */
async function answerOf(behaviour: ToolBehaviour, run: ToolRun): Promise<unknown> {
  try {
    return await behaviour(run);
  } catch (error) {
    return new ToolStatus(500, { message: String(error) });
  }
}
