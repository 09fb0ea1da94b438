import type { JsonObject } from './json.ts';

/** A tool behind an HTTP endpoint, registered over the API. */
export interface HttpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments (an object). */
  readonly parameters: JsonObject;
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** May hold secrets: never logged, and shown with their values masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | null;
  /** Whether a call whose outcome is unknown after a crash may be run again with the same key. */
  readonly idempotent: boolean;
}

/** An MCP server; its tools appear as `mcp:<name>/<tool>`. `env` and `headers` may hold secrets. */
export type McpServer = { readonly name: string } & (
  | {
      readonly transport: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly transport: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
);

/** A registered thing with what the server adds to it. */
export interface Registered<T> {
  readonly value: T;
  readonly tenantId: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}
