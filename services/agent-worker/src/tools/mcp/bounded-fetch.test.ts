import { afterEach, describe, expect, it } from 'vitest';
import { type LocalServer, startServer } from '../fixtures/local-server.ts';
import { createGuardedFetch } from '../guarded-fetch.ts';
import { boundedFetch } from './bounded-fetch.ts';

describe('boundedFetch', () => {
  const guarded = createGuardedFetch({ permits: () => true });
  const fetch = boundedFetch(guarded.fetch, 1_000);
  let server: LocalServer | null = null;
  afterEach(() => server?.close());

  it('passes on what is within bounds, with its status and headers', async () => {
    server = await startServer((_request, response) => response.writeHead(203, { 'x-a': 'b' }).end('y'.repeat(1_000)));
    const response = await fetch(server.url, { method: 'POST' });
    expect([response.status, response.headers.get('x-a'), (await response.text()).length]).toEqual([203, 'b', 1_000]);
  });

  it('fails on an answer beyond them and closes the connection', async () => {
    server = await startServer((_request, response) => void response.write('y'.repeat(1_001)));
    const response = await fetch(server.url, { method: 'POST' });
    await expect(response.text()).rejects.toThrow('The MCP server answered with more than 1000 bytes.');
    await expect.poll(() => server?.sockets.size, { timeout: 1_000 }).toBe(0);
  });

  it('leaves a stream of notifications and an answer without a body alone', async () => {
    server = await startServer((request, response) => {
      if (request.method === 'GET') response.end('y'.repeat(5_000));
      else response.writeHead(204).end();
    });
    expect((await (await fetch(server.url, { method: 'GET' })).text()).length).toBe(5_000);
    expect((await fetch(server.url, { method: 'POST' })).status).toBe(204);
  });
});
