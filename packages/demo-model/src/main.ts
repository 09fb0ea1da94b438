import { DEMO_PACE_MS, startDemoModel } from './demo.ts';

const DEFAULT_PORT = 4010;

/** A whole number from the environment; an empty variable counts as not set. */
function readNumber(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  process.stderr.write(`${name} must be a whole number, not '${text}'\n`);
  process.exit(1);
}

const server = await startDemoModel({
  host: process.env.HOST || '127.0.0.1',
  port: readNumber('PORT', DEFAULT_PORT),
  pace: readNumber('PACE_MS', DEMO_PACE_MS),
});
process.stdout.write(`Turnwire's demo model (scripted answers, not a language model): ${server.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.close());
}
