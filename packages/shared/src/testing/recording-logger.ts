import type { Logger } from '../ports/logger.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface RecordingLogger extends Logger {
  readonly lines: readonly LogLine[];
}

/** Keeps what is logged, children's lines included, instead of showing it. */
export function createRecordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const under = (own: LogLine['fields']): RecordingLogger => {
    const keep = (level: LogLine['level']) => (fields: LogLine['fields'], message: string) => {
      lines.push({ level, message, fields: { ...own, ...fields } });
    };
    return {
      lines,
      debug: keep('debug'),
      info: keep('info'),
      warn: keep('warn'),
      error: keep('error'),
      child: (fields) => under({ ...own, ...fields }),
    };
  };
  return under({});
}
