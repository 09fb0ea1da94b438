type Fields = Readonly<Record<string, unknown>>;

/** Structured logs. Fields first, then one sentence. Keys and secrets are redacted by the adapter, and not given to it. */
export interface Logger {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
  /** A logger that adds these fields to each line. */
  child(fields: Fields): Logger;
}
