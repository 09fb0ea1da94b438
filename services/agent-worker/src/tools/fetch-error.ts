import { ToolError } from './tool-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up at the moment',
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  UND_ERR_CONNECT_TIMEOUT: 'it did not accept a connection in time',
  ETIMEDOUT: 'it did not answer in time',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
};

/** What to throw for an error of a request or its body: the abort's reason as it is, all else as a sentence. */
export function toFetchError(error: unknown, host: string, signal: AbortSignal | null | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  const causes = causesOf(error);
  const known = causes.find((cause) => cause instanceof ToolError);
  if (known !== undefined) return known;
  return new ToolError(`${host} cannot be reached: ${reasonOf(causes)}.`, { cause: error });
}

function reasonOf(causes: readonly Error[]): string {
  for (const cause of causes) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const reason = REASONS[code];
    if (reason !== undefined) return reason;
    if (/^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code))
      return 'its certificate is not valid';
    if (cause.message === 'bad port') return 'its port is not one for web servers';
  }
  return 'the connection failed';
}

/** The error and what caused it; where several addresses were tried, the errors of all. */
function causesOf(error: unknown): readonly Error[] {
  if (!(error instanceof Error)) return [];
  const several: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  return [error, ...several.flatMap(causesOf), ...causesOf(error.cause)];
}
