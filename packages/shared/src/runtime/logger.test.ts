import { describe, expect, test } from 'vitest';
import { createLogger } from './logger.ts';

function loggerTo(lines: Record<string, unknown>[], secrets: string[] = [], level: 'info' | 'warn' = 'info') {
  const stream = { write: (line: string) => void lines.push({ raw: line, ...JSON.parse(line) }) };
  return createLogger({ level, secrets }, stream);
}

describe('the logger', () => {
  test('writes one line of JSON per entry, with the fields of its parents', () => {
    const lines: Record<string, unknown>[] = [];
    const log = loggerTo(lines).child({ sessionId: 'ses_1' });
    log.info({ step: 2 }, 'A step began.');
    expect(lines).toEqual([
      expect.objectContaining({ level: 'info', msg: 'A step began.', sessionId: 'ses_1', step: 2 }),
    ]);
    expect(lines[0]?.['time']).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(String(lines[0]?.['raw'])).toMatch(/^[^\n]+\n$/);
  });

  test('leaves out what is below its level', () => {
    const lines: Record<string, unknown>[] = [];
    const log = loggerTo(lines, [], 'warn');
    log.info({}, 'no');
    log.warn({}, 'yes');
    expect(lines.map(({ msg }) => msg)).toEqual(['yes']);
  });

  test.each(['err', 'error'])('shows an error under %s with its causes', (field) => {
    const lines: Record<string, unknown>[] = [];
    loggerTo(lines).error({ [field]: new Error('outer', { cause: new Error('inner') }) }, 'It failed.');
    expect(JSON.stringify(lines[0]?.[field])).toMatch(/outer.*inner/);
  });

  test('blanks fields that hold secrets, wherever they stand', () => {
    const lines: Record<string, unknown>[] = [];
    const tool = { name: 'crm', headers: { 'X-Key': 'hush' } };
    const server = { transport: 'stdio', env: { TOKEN: 'hush' } };
    loggerTo(lines).info({ apiKey: 'hush', tool, deep: { server }, headers: { authorization: 'hush' } }, 'Hello.');
    expect(String(lines[0]?.['raw'])).not.toContain('hush');
    expect(String(lines[0]?.['raw'])).toContain('crm');
  });

  test('blanks known secrets whatever brought them there', () => {
    const lines: Record<string, unknown>[] = [];
    const secrets = ['sk-very-secret', 'quote"d-secret', 'short'];
    const log = loggerTo(lines, secrets).child({ note: 'sk-very-secret' });
    log.warn({ err: new Error('refused sk-very-secret'), x: 'quote"d-secret' }, 'sk-very-secret is a shortage');
    const raw = String(lines[0]?.['raw']);
    expect(raw).not.toMatch(/very-secret|d-secret/);
    expect(lines[0]?.['msg']).toBe('[redacted] is a shortage'); // too short a value would tear words apart
  });
});
