import { createHash } from 'node:crypto';

const MAX_LENGTH = 64;
const HASH_LENGTH = 10;

/**
 * The name of a tool as models are told it: most providers take only `^[a-zA-Z0-9_-]{1,64}$`. `mcp:files/read` becomes
 * `mcp__files__read`. Where that would be ambiguous, too long or lose a character, a hash of the whole name is appended,
 * so that two tools never get one name, and a tool has the same name in every step, whatever other tools there are.
 */
export function modelToolName(name: string): string {
  const [, server, tool] = /^mcp:([^/]*)\/(.*)$/s.exec(name) ?? [];
  if (server !== undefined && tool !== undefined) {
    const readable = `mcp__${server}__${tool}`;
    const reversible = !/__|_$/.test(server) && !/__|^_/.test(tool);
    return reversible && isModelName(readable) ? readable : hashed(readable, name);
  }
  return isModelName(name) && !name.startsWith('mcp__') ? name : hashed(name, name);
}

function isModelName(name: string): boolean {
  return /^[a-zA-Z0-9_-]+$/.test(name) && name.length <= MAX_LENGTH;
}

function hashed(readable: string, name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  const kept = readable.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_LENGTH - HASH_LENGTH - 1);
  return `${kept}_${hash}`;
}
