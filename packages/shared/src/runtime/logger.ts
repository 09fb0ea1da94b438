import pino, { type DestinationStream, type LoggerOptions } from 'pino';
import type { Logger } from '../ports/logger.ts';

export interface LoggerSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Values that must not appear in any line, whatever brought them there. */
  readonly secrets: readonly string[];
}

/** Fields that hold secrets wherever they stand: keys, and what tools and MCP servers are registered with. */
const SECRET_FIELDS = ['apiKey', 'apiKeys', 'authorization', 'Authorization', 'password', 'headers', 'env'];

/** Shorter ones are no secrets, and blanking them would tear words apart. */
const MIN_SECRET = 8;

export function createLogger({ level, secrets }: LoggerSettings, stream: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err },
    redact: {
      paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
      censor: '[redacted]',
    },
    hooks: { streamWrite: blanking(secrets) },
  };
  return pino(options, stream);
}

/**
 * Where logs go: stderr, since stdout is for what the program has to say to its caller, such as the three lines of
 * `npm start`, which a pipe can then read alone. Written at once and not from a buffer, so that a crash loses no line.
 *
 * @param pretty for a person's eyes; otherwise one line of JSON per entry
 */
export async function openLogStream(pretty: boolean): Promise<DestinationStream> {
  if (!pretty) return pino.destination({ dest: 2, sync: true });
  const { default: prettyStream } = await import('pino-pretty'); // 20 ms that only a terminal pays for
  return prettyStream({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' });
}

/** Replaces known secrets in a finished line, as JSON has them. */
function blanking(secrets: readonly string[]): (line: string) => string {
  const known = secrets
    .filter(({ length }) => length >= MIN_SECRET)
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  return (line) =>
    known.reduce((text, secret) => (text.includes(secret) ? text.replaceAll(secret, '[redacted]') : text), line);
}
